#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two servers on one TCP port, or one Unix socket: the second is refused, the
# first goes on as if nothing had been.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 1M
peer <<'END'
Peer.open().write(0, b"first")
END
inode=$(stat -c %i "$socket")
wrong 1 "127.0.0.1:$port: .*another.*port \(-l\)" -l "127.0.0.1:$port" 1M
wrong 1 "unix:$socket: another program" -l "unix:$socket" 1M
# Together with one that is free: that one is not left behind.
wrong 1 "unix:$socket: another program" -l "unix:$tmp/other" \
	-l "unix:$socket" 1M
# From a file: where it stands there.
printf '%s\n' '[export a]' 'size = 1M' '[server]' \
	"listen = localhost:$port" >"$tmp/conf"
wrong 1 "$tmp/conf:4: localhost:$port: .*another program; .* another port$" \
	-c "$tmp/conf" -o "control=$tmp/control"
printf '%s\n' '[export a]' 'size = 1M' '[server]' \
	"listen = unix:$tmp/other, unix:$socket" >"$tmp/conf"
wrong 1 "$tmp/conf:4: unix:$socket: another program" -c "$tmp/conf" \
	-o "control=$tmp/control"
echo "no socket" >"$tmp/file"
printf '%s\n' '[server]' "listen = unix:$tmp/file" '[export a]' 'size = 1M' \
	>"$tmp/conf"
wrong 1 "$tmp/conf:2: unix:$tmp/file: is something else" -c "$tmp/conf" \
	-o "control=$tmp/control"
[ ! -e "$tmp/other" ] || fail "a socket was left behind"
[ "$(stat -c %i "$socket")" = "$inode" ] || fail "the socket was replaced"
for at in "$uri" "$tcp_uri"; do
	uri=$at peer <<'END' || fail "the first one is disturbed"
assert Peer.open().read(0, 5) == b"first"
END
done
kill -0 "$pid" || fail "the first one is gone"
stop_nbdramd
[ ! -e "$socket" ] || fail "the socket's file stays"
