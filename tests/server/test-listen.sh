#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Addresses of all kinds, several at once: names, IPv4, IPv6, Unix sockets;
# without any, localhost:10809.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -l localhost:0 -l 127.0.0.2:0 -o "listen=unix:$tmp/more" \
	-m 64M 1M
grep 'listening to' "$log"
n=0
while read -r at; do
	case $at in
	unix:*) at="nbd+unix:///?socket=${at#unix:}" ;;
	*) at=nbd://$at ;;
	esac
	uri=$at peer <<'END' || fail "$at"
Peer.open().write(0, b"x")
END
	n=$((n + 1))
done < <(sed -n 's/.*listening to //p' "$log")
[ "$n" -ge 5 ] || fail "only $n addresses"
stop_nbdramd

if [ -e /proc/net/if_inet6 ] && grep -q '^0*1 ' /proc/net/if_inet6; then
	start_nbdramd -l '[::1]:0' -m 64M 1M
	at=$(sed -n 's/.*listening to \(\[::1\]:[0-9]*\)/\1/p' "$log")
	uri=nbd://$at peer <<'END' || fail "IPv6"
Peer.open().write(0, b"x")
END
	stop_nbdramd
fi

# In a network of our own the usual port is free.
[ "$(id -u)" = 0 ] && command -v ip >/dev/null || exit 0
ns=nbdram$$
ip netns add "$ns" 2>/dev/null || exit 0
cleanup_fn ip netns del "$ns"
ip -n "$ns" link set lo up
_hear "$tmp/told"
NOTIFY_SOCKET=$tmp/told ip netns exec "$ns" "$nbdramd" -m 64M \
	-s "$tmp/control" 1M >"$tmp/log" 2>&1 </dev/null &
pid=$!
_nbdramd_logs[$pid]=$tmp/log
cleanup_fn _end_nbdramd "$pid"
read -r -t 60 -u "$hear_fd" line || fail "it does not start: $(cat "$tmp/log")"
grep -q 'listening to 127.0.0.1:10809' "$tmp/log" || fail "not on localhost:10809"
stop_nbdramd
