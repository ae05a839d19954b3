#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mkfs discards a whole disk at once. Trimming and zeroing 8T of it that were
# never written take next to no time and memory, and another client's reads go
# on meanwhile.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

start_nbdkit 8T memory=128M
wait_for 10 pool_settled
before=$(pool_bytes)
client <<'END' || fail "trims and zeroes"
size, step = h.get_size(), 2**32 - 1
h.pwrite(b"keep", 0)
h.pwrite(b"keep", 5 * 2**40 + 8192)

def all_by(call, *flags):
    started = time.time()
    other = connect()
    slow, n, off = [], 0, 4096
    while off < size:
        count = min(step, size - off)
        # Keeps off the one block that has data in it.
        if off <= 5 * 2**40 + 8192 < off + count:
            count = 5 * 2**40 + 8192 - off if off < 5 * 2**40 + 8192 else 4096
        if off != 5 * 2**40 + 8192:
            call(count, off, *flags)
        off += count
        n += 1
        if n % 32 == 0:
            at = time.time()
            assert len(other.pread(4096, random.randrange(size // 4096) * 4096)) == 4096
            slow.append(time.time() - at)
    took = time.time() - started
    slow.sort()
    print("%s: %d requests in %.2f s; reads beside it at most %.1f ms"
          % (call.__name__, n, took, slow[-1] * 1000))
    assert took < 5, took
    assert slow[len(slow) * 99 // 100 - 1] < 0.05, slow

all_by(h.trim)
all_by(h.zero)
all_by(h.zero, nbd.CMD_FLAG_FAST_ZERO)
assert h.pread(4, 0) == b"keep"
assert h.pread(4, 5 * 2**40 + 8192) == b"keep"
END
wait_for 5 pool_settled
after=$(pool_bytes)
echo "pool: $before bytes before, $after after"
[ $((after - before)) -le $((2 << 20)) ] || fail "memory was taken"
