#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGTERM in any state of any client: the server ends in time, with 0, and nobody
# gets an error for it: whole good replies, then the end.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cat >"$tmp/stop.py" <<'END'
how, n = args[0], int(args[1])
u = tcp_uri if int(args[2]) else uri
def ending(p):
    """Takes whole replies until the end, and none may be an error."""
    count = 0
    try:
        while True:
            q = p.answer()
            assert q.error == 0, "error %d for %d" % (q.error, q.command)
            count += 1
    except (Closed, ConnectionResetError):
        return count
    except BrokenPipeError:
        return count
def go(kind, i):
    if how == "handshake":
        p = Peer(u).hello()
        p.structured()
        p.option(OPT_GO, b"\0\0", 100)
        return p
    p = Peer.open(kind, uri=u)
    if how == "half a write":
        p.send(p.prepare(WRITE, 0, payload=bytes(2 * MIB))[:MIB])
    elif how == "unread replies":
        p.send(b"".join(p.prepare(READ, 0, MIB // 4) for j in range(20)))
    elif how == "never read":
        p.send(b"".join(p.prepare(READ, 0, MIB) for j in range(200)))
    elif how == "parked trim":
        for j in range(30):
            p.send(p.prepare(TRIM, j * (2**32 - 4096), 2**32 - 4096))
    elif how == "parked write":
        # More than may be parked, but no more than the sockets hold: who is
        # stuck in sending here waits until the writes have given up.
        p.send(b"".join(p.prepare(WRITE, 2**40 + (i * 100 + j) * 4096,
                                  payload=b"w" * 4096) for j in range(60)))
    elif how == "waiting write":
        p.send(p.prepare(WRITE, 2**41 + i * MIB, payload=b"w" * MIB)[:100000])
    return p
first = Peer.open("simple", uri=u)
for i in range(16):
    first.write(i * MIB, bytes([i + 1]) * MIB)
if how in ("parked write", "waiting write"):
    # Nearly all that there is room for: most of those who follow wait.
    for i in range(16, 55):
        first.write(i * MIB, bytes([1]) * MIB)
if how == "parked trim":
    # Something to do: every table of it has a block.
    first.write_all([(i * 2**21 * 37, b"t") for i in range(1500)])
clients = [go(KINDS[i % 3], i) for i in range(n)]
open(args[3], "w").close()
counts = []
if how == "never read":
    # They look only when the server has gone.
    while os.path.exists("/proc/%s/fd/0" % pid):
        time.sleep(.02)
    raise SystemExit
if how == "handshake":
    for p in clients:
        p.closed()
else:
    for p in clients:
        counts.append(ending(p))
print("%s: answered to each: %s" % (how, sorted(set(counts))))
END
for tcp in 0 1; do
	for how in idle handshake "half a write" "unread replies" "never read" \
			"parked trim" "parked write" "waiting write"; do
		start_nbdramd --both -m 64M 8T
		rm -f "$tmp/there"
		peer "$how" 12 "$tcp" "$tmp/there" <"$tmp/stop.py" &
		client=$!
		_there() { [ -e "$tmp/there" ] || ! kill -0 "$client" 2>/dev/null; }
		wait_for 60 _there
		since=$(date +%s%N)
		kill -TERM "$pid"
		ended_nbdramd "$pid" "$since" || fail "$how: the server"
		echo "$how: $((($(date +%s%N) - since) / 1000000)) ms"
		wait "$client" || fail "$how: the clients"
	done
done
