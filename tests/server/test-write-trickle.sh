#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients that hold the memory for payloads and send a byte now and then do not keep
# others from writing for longer than a bounded time: while others wait, a payload has
# to come in earnest.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 1G 4G
peer <<'END' || fail "trickling clients"
import threading
PAY = 8 * MIB - 65536
stop = threading.Event()
ended = []
def trickle(k):
    c = Peer.open("simple", uri=tcp_uri if k % 2 else None, timeout=120)
    try:
        c.send(c.header(WRITE, (64 + 16 * k) * MIB, PAY, 0, 1) +
               b"x" * (PAY - 4096))
        while not stop.wait(.3):
            c.send(b"x")
    except (OSError, Closed):
        ended.append(k)
# Of 64 MiB each has all of its payload but the end.
threads = [threading.Thread(target=trickle, args=(k,)) for k in range(12)]
for t in threads:
    t.start()
other = Peer.open("simple", timeout=120)
longest, until = 0, time.monotonic() + max(8, 60 * scale)
writes = 0
while time.monotonic() < until:
    started = time.monotonic()
    other.write(writes % 16 * MIB, b"o" * (256 << 10))
    longest = max(longest, time.monotonic() - started)
    writes += 1
stop.set()
for t in threads:
    t.join()
print("%d writes beside 12 that trickle, the longest took %.1f s; %d were let go"
      % (writes, longest, len(ended)))
assert slow or longest < 5, longest
END
