# SPDX-License-Identifier: BSD-3-Clause
# The root of a build host: a small Debian with a compiler. Comes after functions.sh
# and source-tree.sh.
# shellcheck shell=bash

# debian_root: set $root_tar to its archive. It is made once, by mmdebstrap from where
# this host's packages come from, and kept for the next run beside source trees. That
# takes minutes: a short run, in which nobody has made it before, leaves $root_tar
# empty.
debian_root()
{
	local cache=${NBDRAM_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nbdram-tests}
	local mirror suite
	root_tar=$cache/debian-root.tar
	[ ! -s "$root_tar" ] || return 0
	root_tar=
	[ "$(scaled 100)" = 100 ] || return 0
	requires_command mmdebstrap
	mkdir -p "$cache" || skip "no cache folder $cache"
	exec 9>"$cache/root.lock"
	flock 9 || fail "cannot lock $cache"
	if [ ! -s "$cache/debian-root.tar" ]; then
		suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
		mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
			'Created-By: Packages' 'Origin: Debian' 'Component: main' |
			awk -v suite="$suite" '$2 == suite { print $1; exit }')
		[ "$mirror" ] || skip "this host does not say where Debian is to be had"
		mmdebstrap --variant=minbase --include=gcc,libc6-dev,make "$suite" \
			"$cache/debian-root.new.tar" "$mirror" >"$cache/root-log" 2>&1 ||
			skip "no Debian: $(tail -n 3 "$cache/root-log")"
		mv "$cache/debian-root.new.tar" "$cache/debian-root.tar"
	fi
	exec 9>&-
	root_tar=$cache/debian-root.tar
}
