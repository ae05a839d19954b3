# SPDX-License-Identifier: BSD-3-Clause
# A real C source tree to build on a disk: Lua, as Debian ships its source. Comes
# after functions.sh.
# shellcheck shell=bash

# source_tree: set $source_tar to the tree's archive, which unpacks into one
# folder, $source_dir. It is fetched once and kept for the next run (in
# $NBDRAM_TEST_CACHE, or where programs keep such things); skips if it cannot be
# had.
source_tree()
{
	local cache=${NBDRAM_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nbdram-tests}
	mkdir -p "$cache" || skip "no cache folder $cache"
	exec 9>"$cache/lock"
	flock 9 || fail "cannot lock $cache"
	_find_source "$cache"
	if [ ! "$source_tar" ]; then
		_fetch_source "$cache"
		_find_source "$cache"
	fi
	exec 9>&-
	[ "$source_tar" ] || skip "no source: $(tail -n 3 "$cache/log")"
	# shellcheck disable=SC2034
	source_dir=$(tar -tf "$source_tar" | sed -n '1s@/.*@@p')
	[ "$source_dir" ] || fail "$source_tar is no archive"
}

_find_source()
{
	source_tar=
	for source_tar in "$1"/lua5.4_*.orig.tar.*; do
		case $source_tar in
		*.asc) ;;
		*) [ ! -f "$source_tar" ] || return 0 ;;
		esac
	done
	source_tar=
}

# Where this host's packages come from, as lines for their sources.
_name_sources()
{
	apt-get indextargets --format "deb-src $1"'$(REPO_URI) $(RELEASE) main' \
		'Created-By: Packages' 'Origin: Debian' 'Component: main' |
		sort -u
}

# By apt, which verifies what it fetches; with lists of its own, so that the
# host's stay as they are, for they seldom name sources.
_fetch_source()
{
	local cache=$1 apt="$1/apt" key=/usr/share/keyrings/debian-archive-keyring.gpg
	command -v apt-get >/dev/null || skip "no apt-get, to fetch a source with"
	rm -rf "$apt"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/new"
	[ -f "$key" ] && key="[signed-by=$key] " || key=
	_name_sources "$key" >"$apt/sources.list"
	if [ ! -s "$apt/sources.list" ]; then
		# The host has not looked yet at what there is.
		apt-get -q update >"$cache/log" 2>&1 </dev/null
		_name_sources "$key" >"$apt/sources.list"
	fi
	set -- -q -o Dir::Etc::SourceList="$apt/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User=root -o APT::Get::List-Cleanup=0
	(
		apt-get "$@" update &&
			cd "$apt/new" &&
			apt-get "$@" source --download-only lua5.4
	) >"$cache/log" 2>&1 </dev/null &&
		mv "$apt/new/"lua5.4_*.orig.tar.* "$cache/"
	rm -rf "$apt"
}
