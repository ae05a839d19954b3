# SPDX-License-Identifier: BSD-3-Clause
# A link whose server is killed ends at once: plain, and through a relay.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"
. "$abs_top_srcdir/tests/attach/link.sh"

tls_init
mkfifo "$tmp/fifo"

# dies HOW URI [ARGUMENT...]: the server is killed under it.
dies()
{
	local how=$1
	shift
	: >"$tmp/link"
	"$link_io" -w "$@" <"$tmp/fifo" >"$tmp/link" 2>&1 &
	link_pid=$!
	exec 7>"$tmp/fifo"
	wait_for 20 test -s "$tmp/link" || fail "$how: no link"
	kill -0 "$link_pid" || fail "$how: $(cat "$tmp/link")"
	kill_nbdramd
	wait_for 20 grep -qx dead "$tmp/link" ||
		fail "$how: it lives: $(cat "$tmp/link")"
	wait "$link_pid" || fail "$how: exit status $?"
	exec 7>&-
}

start_nbdramd --tcp -m 64M 8M
dies plain "nbd://127.0.0.1:$port/"
start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" 8M
dies relay -r "$(tls_uri)"
