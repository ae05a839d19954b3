# SPDX-License-Identifier: BSD-3-Clause
# The same test with each server that there is: comes after functions.sh, and
# runs the rest of the file once for each of $servers. Then start_server starts
# the one whose turn it is, $NBDRAM_SERVER.
# shellcheck shell=bash

servers="${servers:-plugin nbdramd nbdramd-tcp}"

if [ ! "${NBDRAM_SERVER:-}" ]; then
	_passed='' _failed=''
	for _server in $servers; do
		echo "=== $_server"
		NBDRAM_SERVER=$_server "${BASH:-bash}" "$0"
		case $? in
		0) _passed=1 ;;
		77) ;;
		*) _failed="$_failed $_server" ;;
		esac
	done
	[ ! "$_failed" ] || fail "with$_failed"
	[ "$_passed" ] || exit 77
	exit 0
fi

. "$abs_top_srcdir/tests/client.sh"

# start_server SIZE memory=SIZE: one disk, no name needed. Sets $uri, and
# $server_pid for those functions of client.sh that look at a process.
start_server()
{
	local size=$1 memory=${2#memory=}
	case $NBDRAM_SERVER in
	plugin)
		start_nbdkit "$size" memory="$memory"
		server_pid=$nbdkit_pid
		return
		;;
	nbdramd) start_nbdramd -m "$memory" "$size" ;;
	nbdramd-tcp) start_nbdramd --tcp -m "$memory" "$size" ;;
	*) fail "no such server: $NBDRAM_SERVER" ;;
	esac
	# shellcheck disable=SC2034
	server_pid=$pid
}
