#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 200 clients (20 where the pool is small) that have sent half of a WRITE and say
# nothing more do not keep others from writing, however large; and many large ones
# at once do not wait for each other, in a pool that is small.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for memory in 64M 1G; do
	start_nbdramd --both -m "$memory" 16G
	peer "$memory" <<'END' || fail "half writes with $memory"
import threading
peers = []
many = 20 if args[0] == "64M" else 200
for i in range(many):
    p = Peer.open("simple", uri=tcp_uri if i % 2 else None)
    n = random.choice((MIB, 8 * MIB, 64 * MIB, 300000))
    p.send(p.header(WRITE, i * 64 * MIB, n, 0, 7) +
           b"x" * random.choice((1, 1000, 270000)))
    peers.append(p)
other = Peer.open("simple")
for n in (4096, 262144, MIB, 8 * MIB, 20 * MIB):
    started = time.monotonic()
    other.write(15 * 2**30, b"o" * n)
    took = time.monotonic() - started
    print("%d KiB beside %d half writes: %.2f s" % (n // 1024, many, took))
    # Whoever sends nothing for 2 s gives way.
    assert slow or took < 4.5, took
    assert other.read(15 * 2**30, n) == b"o" * n
other.trim(15 * 2**30, 64 * MIB)
for p in peers:
    p.close()

n = 20 * MIB if args[0] == "64M" else 32 * MIB
results = []
# Not by the threads: memory that is touched first holds the others up.
contents = [bytes([i + 1]) * n for i in range(16)]
def work(i):
    with Peer.open("simple", uri=tcp_uri if i % 2 else None) as p:
        at = i * 2**28
        if args[0] == "64M":
            # All the same place: there is not much memory.
            at = 0
        for round in range(2):
            p.write(at, contents[i])
        results.append(i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
started = time.monotonic()
for t in threads:
    t.start()
for t in threads:
    t.join()
print("16 times %d MiB at once: %.1f s" % (n // MIB,
                                           time.monotonic() - started))
assert len(results) == 16, results
for i in range(16):
    at = 0 if args[0] == "64M" else i * 2**28
    data = other.read(at, n)
    assert args[0] == "64M" or data == contents[i]
END
	stop_nbdramd
done
