#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A full pool and a client with many requests in flight: they wait side by side, each
# for 5 s in all, and not one after the other; what needs no memory passes those that
# wait, as far as half of landing holds these.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 1G
peer <<'END' || fail "full pool"
import threading
N = 65536
p = Peer.open("structured", timeout=60)
written = 0
try:
    while True:
        p.write(written, bytes([written // N % 255 + 1]) * N)
        written += N
except Refused as e:
    assert e.name == "ENOSPC", e

def flight(q, count, size):
    """Writes that need memory, then a read and an overwrite; seconds until each
    answer, by command and offset."""
    messages = [q.prepare(WRITE, 2**29 + i * size, payload=b"w" * size)
                for i in range(count)]
    messages.append(q.prepare(READ, 0, 4096))
    messages.append(q.prepare(WRITE, N, payload=b"over" * 1024))
    started = time.monotonic()
    sender = threading.Thread(target=lambda: [q.send(m) for m in messages])
    sender.start()
    took, passed = [], []
    for i in range(count + 2):
        a = q.answer()
        now = time.monotonic() - started
        if a.command == WRITE and a.offset >= 2**29:
            assert a.error, a
            took.append(now)
        else:
            a.check()
            passed.append(now)
    sender.join()
    return took, passed

for uri in [None, tcp_uri]:
    # Few: those that need nothing do not wait at all.
    took, passed = flight(Peer.open("structured", timeout=60, uri=uri), 10, N)
    print("10 writes: %.1f to %.1f s; read and overwrite: %.2f s"
          % (min(took), max(took), max(passed)))
    assert min(took) > 4 and max(took) < 6.5, took
    assert slow or max(passed) < 1, passed
    # More than fit into half of landing.
    took, passed = flight(Peer.open("structured", timeout=60, uri=uri), 100,
                          2 * N)
    print("100 writes: %.1f to %.1f s; read and overwrite: %.2f s"
          % (min(took), max(took), max(passed)))
    assert min(took) > 4 and max(took + passed) < (20 if slow else 7), took
# The next one, sent later, has its own 5 s.
started = time.monotonic()
refused("ENOSPC", p.write, 2**29, b"w" * N)
assert time.monotonic() - started > 4
# One that waits is written when there is memory again.
p.send(p.prepare(WRITE, 2**29, payload=b"w" * N))
other = Peer.open("simple")
other.trim(2 * N, 64 * N)
p.answer().check()
assert other.read(2**29, N) == b"w" * N
assert other.read(N, 4096) == b"over" * 1024
END
