# SPDX-License-Identifier: BSD-3-Clause
# What ./quickstart and ./check have in common: packages and building. Sourced;
# the caller has set $top to the top folder of the source.
# shellcheck shell=bash

# shellcheck source=scripts/packages.sh
. "$top/scripts/packages.sh"

jobs=$(nproc 2>/dev/null || echo 2)

# say TEXT...: for the person who watches.
say()
{
	printf '%s\n' "${0##*/}: $*"
}

# die TEXT...: one line, and the end.
die()
{
	printf '%s\n' "${0##*/}: $*" >&2
	exit 1
}

# --------------------------------------------------------------- packages

# Set to yes once something was installed: what configure found before is old.
installed_any=

package_is_installed()
{
	dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null |
		grep -qx installed
}

# The packages of a list, one a line.
package_names()
{
	awk 'NF { print $1 }' <<<"$1"
}

# missing_packages LIST: those that are not installed.
missing_packages()
{
	local alternatives one found
	while IFS= read -r alternatives; do
		found=
		for one in ${alternatives//|/ }; do
			package_is_installed "$one" && found=yes
		done
		[ "$found" ] || printf '%s\n' "${alternatives%%|*}"
	done < <(package_names "$1")
}

# apt_get ARGUMENT...: as root, without questions.
apt_get()
{
	local -a command=(env DEBIAN_FRONTEND=noninteractive apt-get
		-q -y -o DPkg::Lock::Timeout=300 "$@")
	if [ "$(id -u)" = 0 ]; then
		"${command[@]}" </dev/null
	else
		sudo "${command[@]}"
	fi
}

# install_packages LIST: what is missing of it. Nothing missing: nothing is
# called. False when some are still missing afterwards.
install_packages()
{
	local -a missing
	mapfile -t missing < <(missing_packages "$1")
	[ "${#missing[@]}" -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		say "packages are missing, and only root can install them. As root:"
		say "    apt-get install --no-install-recommends ${missing[*]}"
		return 1
	fi
	say "installing with apt-get: ${missing[*]}"
	installed_any=yes
	apt_get update || say "apt-get update failed, trying all the same"
	apt_get install --no-install-recommends "${missing[@]}" && return 0
	# One that this system does not have must not keep the others away.
	if [ "${#missing[@]}" -gt 1 ]; then
		say "not all of them could be installed, trying one by one"
		for package in "${missing[@]}"; do
			apt_get install --no-install-recommends "$package" ||
				say "$package could not be installed"
		done
	fi
	mapfile -t missing < <(missing_packages "$1")
	[ "${#missing[@]}" = 0 ]
}

# need_packages LIST COMMAND...: install what is missing of the list; in the end
# what counts is whether the commands are there.
need_packages()
{
	local list=$1 command complete=
	local -a lacking=()
	shift
	if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
		install_packages "$list" && complete=yes
	fi
	# Some are in sbin, which not everybody has on PATH.
	PATH=$PATH:/usr/local/sbin:/usr/sbin
	for command in "$@"; do
		command -v "$command" >/dev/null || lacking+=("$command")
	done
	if [ "${#lacking[@]}" -gt 0 ]; then
		say "missing: ${lacking[*]}" >&2
		[ "$complete" ] ||
			say "Debian's packages for all that is needed:" \
			    "$(package_names "$list" | sed 's/|.*//' | tr '\n' ' ')" >&2
		exit 1
	fi
}

# configure and libtool are long scripts, and libtool is run for each file: dash takes
# less than half of what bash takes for it, which is a third of a whole build.
[ ! -x /bin/dash ] || export CONFIG_SHELL=/bin/dash

# What cannot be done without, as commands.
build_commands=(autoreconf automake libtoolize pkg-config gcc make nbdkit
	pod2man)

# --------------------------------------------------------------- building

# autotools_are_stale: no configure, or a room without its Makefile.in (make
# itself sees to edits of what is there).
autotools_are_stale()
{
	local makefile
	[ -x "$top/configure" ] || return 0
	while IFS= read -r makefile; do
		[ -f "${makefile%.am}.in" ] || return 0
	done < <(find "$top" -path "$top/build" -prune -o \
		-name Makefile.am -print)
	return 1
}

# build_tree FOLDER LOG CONFIGURE-ARGUMENT...: configure unless that was done
# with the same arguments, and make all. What was printed is added to LOG.
build_tree()
{
	local folder=$1 log=$2 wanted
	shift 2
	mkdir -p "$folder" || return
	if [ -f "$top/config.status" ]; then
		# configure would refuse, far down in its log.
		die "$top was configured in place: run \`make distclean\` there first"
	fi
	if autotools_are_stale; then
		(cd "$top" && autoreconf -fi) >>"$log" 2>&1 </dev/null || return
	fi
	wanted="$top $*"
	if [ ! -f "$folder/Makefile" ] || [ "$installed_any" ] ||
	   [ "$(cat "$folder/configured-with" 2>/dev/null)" != "$wanted" ]; then
		rm -f "$folder/configured-with"
		(cd "$folder" && "$top/configure" "$@") \
			>>"$log" 2>&1 </dev/null || return
		printf '%s\n' "$wanted" >"$folder/configured-with"
	fi
	make -C "$folder" -j"$jobs" all >>"$log" 2>&1 </dev/null
}
