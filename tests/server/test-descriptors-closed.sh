#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Started without standard input, output or error, in all combinations: no
# client's socket takes their place, so no message goes to a client.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for closed in '<&-' '>&-' '2>&-' '<&- >&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	free_socket
	notify=$tmp/notify${socket##*/}
	_hear "$notify"
	eval "exec env NOTIFY_SOCKET=\$notify \"\$nbdramd\" -v -m 64M \
		-l unix:\$socket -s \$socket-control 1M \
		$closed" &
	pid=$!
	_nbdramd_logs[$pid]=/dev/null
	cleanup_fn _end_nbdramd "$pid"
	read -r -t 60 -u "$hear_fd" line || fail "with $closed it does not start"
	for fd in 0 1 2; do
		case $(readlink "/proc/$pid/fd/$fd") in
		socket:* | *memfd* | anon_inode:* | '')
			fail "with $closed: $fd is $(readlink "/proc/$pid/fd/$fd")"
			;;
		esac
	done
	uri="nbd+unix:///?socket=$socket" peer <<'END' || fail "with $closed"
peers = [Peer.open() for i in range(10)]
refused("ERR_UNKNOWN", Peer.open, name="makes a line in the log")
for p in peers:
    p.write(0, b"x")
    p.send(b"garbage that is worth a line in the log.....")
    p.closed()
END
	stop_nbdramd
	exec {hear_fd}<&-
done
