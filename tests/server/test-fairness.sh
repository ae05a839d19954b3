#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One client with many large requests in flight does not keep one with small ones
# waiting.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 512M -o workers=1 256M
peer "$(scaled 20 2)" <<'END' || fail "fairness"
import threading
stop = False
def large():
    """1 MiB and 32 MiB reads and writes, as many as go."""
    p = Peer.open("simple", uri=tcp_uri)
    data = bytes([7]) * (4 * MIB)
    p.write(0, data)
    while not stop:
        p.send(b"".join(p.prepare(READ, i * MIB, 32 * MIB) for i in range(8)))
        p.drain()
        p.write(128 * MIB, data)
def many():
    """All that fits of small ones, without a pause."""
    p = Peer.open("simple")
    message = b"".join(p.header(READ, i * 4096, 4096) for i in range(256))
    while not stop:
        p.send(message * 4)
        for i in range(64):
            p.recv(16 * 4112)
threads = [threading.Thread(target=f) for f in (large, large, many)]
for t in threads:
    t.start()
small = Peer.open("simple")
times = []
until = time.monotonic() + float(args[0])
while time.monotonic() < until:
    started = time.monotonic()
    small.read(0, 512)
    times.append(time.monotonic() - started)
stop = True
for t in threads:
    t.join()
times.sort()
print("%d small reads: median %.2f ms, 99%% %.2f ms, slowest %.2f ms" % (
    len(times), times[len(times) // 2] * 1000,
    times[len(times) * 99 // 100] * 1000, times[-1] * 1000))
assert len(times) > 20
assert slow or times[len(times) * 99 // 100] < .2
END
