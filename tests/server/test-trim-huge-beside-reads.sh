#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mkfs on an empty disk: all of 8 TiB is trimmed and zeroed in pieces of nearly
# 4 GiB in under 5 s, and another client's 4 KiB reads stay under 50 ms (at the
# 99th percentile) meanwhile; so do they when there is something to be trimmed.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 512M -e disk,size=8T,default -e other,size=16M
peer <<'END' || fail "huge trims"
import subprocess, threading
reader = r'''
import sys, time
p = Peer.open("simple", name="other")
p.write(0, b"r" * MIB)
print("ready", flush=True)
times, until = [], time.monotonic() + 60
import select
while not select.select([sys.stdin], [], [], 0)[0]:
    started = time.monotonic()
    assert p.read(4096 * (len(times) % 256), 4096) == b"r" * 4096
    times.append(time.monotonic() - started)
    time.sleep(.001)
times.sort()
print(len(times), times[len(times) // 2] * 1000, times[len(times) * 99 // 100] * 1000,
      times[-1] * 1000, flush=True)
'''
def beside(what, call):
    r = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.path.insert(0, %r)\n"
         "from peer import *\n%s" % (sys.path[0], reader)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert r.stdout.readline() == "ready\n"
    started = time.monotonic()
    call()
    took = time.monotonic() - started
    r.stdin.write("\n")
    r.stdin.close()
    n, half, most, worst = map(float, r.stdout.read().split())
    assert r.wait() == 0
    print("%s: %.2f s; %d reads beside it: median %.2f ms, 99%% %.2f ms, "
          "slowest %.2f ms" % (what, took, n, half, most, worst))
    assert slow or most < 50
    return took

PIECE, SIZE = 2**32 - 1, 2**43
def all_of_it(command, depth):
    p = Peer.open("simple")
    at = 0
    while at < SIZE or p.in_flight():
        while at < SIZE and p.in_flight() < depth:
            n = min(PIECE, SIZE - at)
            p.request(command, at, n)
            at += n
        p.answer().check()
for name, command in ("TRIM", TRIM), ("WRITE_ZEROES", WRITE_ZEROES):
    for depth in 1, 64:
        took = beside("%s of 8T, %d at a time" % (name, depth),
                      lambda: all_of_it(command, depth))
        assert slow or took < 5, took

# Now with data: 300 MiB of it, and blocks all over.
p = Peer.open("simple")
p.write_all([(2**30 + i * MIB, b"d" * MIB) for i in range(300)])
p.write_all([(2**40 + i * 37 * 2**21, b"s") for i in range(5000)])
took = beside("TRIM of 8T with data", lambda: all_of_it(TRIM, 64))
assert slow or took < 5, took
assert p.read(2**30, MIB) == bytes(MIB)
END
