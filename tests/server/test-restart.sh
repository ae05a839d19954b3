#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 and a new start at once, on the same port and the same Unix socket,
# with clients that were connected: the address is free, the dead socket's file
# is replaced. At a proper end it is removed.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 1M
address=127.0.0.1:$port
path=$socket
for round in 1 2 3; do
	peer "$path" <<'END' &
# Clients that sit and wait for data while the server dies.
peers = [Peer.open("simple", uri=u) for u in (tcp_uri, uri) * 10]
open(args[0] + ".ready", "w").close()
for p in peers:
    p.closed()
END
	client=$!
	wait_for 20 test -e "$path.ready" || fail "the clients do not start"
	rm "$path.ready"
	kill_nbdramd
	wait "$client" || fail "clients of the killed server"
	[ -S "$path" ] || fail "no dead socket was left"
	[ "$round" = 1 ] || sleep 0
	start_nbdramd -l "$address" -l "unix:$path" -m 64M 1M
	grep -q "listening to $address" "$log" || fail "not on $address"
	# What the helper has asked for beside it is of no use here.
	uri="nbd+unix:///?socket=$path" tcp_uri=nbd://$address peer <<'END' ||
for u in (uri, tcp_uri):
    Peer.open(uri=u).write(0, b"again")
END
		fail "after a kill"
	uri="nbd+unix:///?socket=$path" tcp_uri=nbd://$address
	export tcp_uri
done
stop_nbdramd
[ ! -e "$path" ] || fail "the socket's file stays"
start_nbdramd -l "$address" -l "unix:$path" -m 64M 1M
stop_nbdramd

# Only a file of its own is removed at the end.
start_nbdramd -m 64M 1M
mv "$socket" "$socket.moved"
echo other >"$socket"
stop_nbdramd
[ "$(cat "$socket")" = other ] || fail "somebody else's file was removed"
