#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory that was written and then trimmed goes back to the host within a few
# seconds: what the pool occupies plus what is private to the server, compared
# with the start (the warm reserve filled, one client served).
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
[ -z "$sanitizers" ] || skip "a sanitizer takes memory of its own"
mib=$(scaled 1024 512)

used() { echo $(($(pool_bytes) + $(private_bytes))); }
parts() { echo "$(pool_bytes) in the pool and $(private_bytes) private"; }

# load MIB: that much is written, one client after the other; then some of it is
# overwritten by several at once.
load()
{
	client "$1" <<'END'
mib = int(args[0])
data = random.randbytes(2**16) * 4
for i in range(mib * 4):
    h.pwrite(data, i * 2**18)
clients = [connect() for i in range(4)]
buf = nbd.Buffer.from_bytearray(bytearray(random.randbytes(2**16)))
for i in range(mib * 4):
    c = clients[i % 4]
    while c.aio_in_flight() >= 16:
        c.poll(-1)
    c.aio_pwrite(buf, random.randrange(mib * 16) * 2**16)
for c in clients:
    while c.aio_in_flight():
        c.poll(-1)
END
}

# nbdkit has a buffer for each of its threads; let the C library return those of
# threads that have ended, which it would not do by itself.
export MALLOC_MMAP_THRESHOLD_=32768 MALLOC_ARENA_MAX=1
start_nbdkit 16G memory=$((mib * 2))M
# What is made for the first clients and kept belongs to the start.
load 64
client <<'END'
h.trim(2**26, 0)
END
wait_for 20 pool_settled || fail "the reserve is never filled"
before=$(used)
echo "start: $(parts)"
for round in 1 2 3; do
	load "$mib" || fail "writing"
	wait_for 20 pool_settled
	written=$(used)
	[ "$(pool_bytes)" -ge $((mib << 20)) ] ||
		fail "round $round: $mib MiB written, $(pool_bytes) bytes used"
	start=$(date +%s%N)
	client "$mib" <<'END' || fail "trimming"
for i in range(int(args[0]) // 16):
    h.trim(2**24, i * 2**24)
assert extents(0, 2**34) == [[0, 2**34, "hole"]]
END
	back() { [ $(($(used) - before)) -le $((2 << 20)) ]; }
	wait_for 5 back || fail "round $round: $(parts), before $before"
	took=$((($(date +%s%N) - start) / 1000000))
	wait_for 5 pool_settled
	echo "round $round: $before before, $written written," \
		"$(used) $took ms after the first trim"
	back || fail "round $round: and more again"
done
