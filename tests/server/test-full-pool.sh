#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No memory left in the pool: a writer waits up to 5 s and gets ENOSPC while
# others go on; what is there can be read and overwritten; after a trim there is
# room again at once, and those who wait get it.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 1T
peer <<'END' || fail "full pool"
import threading
N = 262144
p = Peer.open("simple")
block = pattern(1, N)
written, took = 0, 0
while True:
    started = time.monotonic()
    try:
        p.write(written * N, block)
    except Refused as e:
        assert e.name == "ENOSPC", e
        break
    written += 1
took = time.monotonic() - started
print("%d KiB were written; ENOSPC after %.1f s" % (written * N // 1024, took))
assert written * N > 48 * MIB
assert 4 < took < 7, took
# With a human message where there is room for one.
q = Peer.open("structured")
e = refused("ENOSPC", q.write, 2**38, block)
assert "memory" in e.text, e.text

# Many wait, small and large; nobody else notices.
waiting = []
for i in range(20):
    w = Peer.open(KINDS[i % 3], uri=tcp_uri if i % 2 else None)
    n = (4096, 65536, N, MIB)[i % 4]
    message = w.prepare(WRITE, 2**39 + i * 2**24, payload=b"w" * n)
    w.s.setblocking(False)
    w.rest = message[w.s.send(message):]
    waiting.append(w)
# Zeroes that are to take memory wait like a write.
zeroes = Peer.open("structured")
zeroes.send(zeroes.prepare(WRITE_ZEROES, 2**38, N, NO_HOLE))
started = time.monotonic()
other = Peer.open("simple")
other.write(0, b"over")
assert other.read(0, 4) == b"over"
other.write(0, block)
assert other.read(written * N - N, N) == block
for i in range(written):
    other.write(i * N, block)
assert slow or time.monotonic() - started < 3, time.monotonic() - started
other.trim(0, 40 * MIB)
print("read, overwrote and trimmed beside 20 that wait: %.2f s"
      % (time.monotonic() - started))
good = 0
for w in waiting:
    w.s.settimeout(30)
    w.send(w.rest)
    good += w.answer().error == 0
took = time.monotonic() - started
print("%d of 20 were written, %.2f s after the start" % (good, took))
assert good == 20 or slow
zeroes.s.settimeout(30)
assert zeroes.answer().error == 0 or slow
assert took < 8
for i, w in enumerate(waiting):
    n = (4096, 65536, N, MIB)[i % 4]
    assert other.read(2**39 + i * 2**24, n) == b"w" * n
started = time.monotonic()
for i in range(16 * MIB // N):
    other.write(i * N, block)
assert time.monotonic() - started < 5
for i in range(16 * MIB // N):
    assert other.read(i * N, N) == block
END
kill -0 "$pid" || fail "the server is gone"
