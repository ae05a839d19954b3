#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No memory left in the pool: the writer waits a while and gets ENOSPC; what is
# there can be read and overwritten, and after a trim there is room again.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

start_nbdkit 1T memory=64M
client <<'END' || fail "full pool"
n, block = 2**18, random.randbytes(2**18)
written = 0
while True:
    started = time.time()
    try:
        h.pwrite(block, written * n)
    except nbd.Error as e:
        assert e.errno == "ENOSPC", e
        break
    written += 1
    assert written * n < 2**26
took = time.time() - started
print("%d KiB written; ENOSPC after %.1f s" % (written * n // 1024, took))
# Of 64 MiB an eighth is for payloads on their way, and tables take some.
assert written * n > 50 * 2**20
assert took < 8, took

# All of it is there. Overwriting goes on, whole blocks and parts, however much.
for i in range(written):
    assert h.pread(n, i * n) == block, i
other = random.randbytes(n)
for again in range(3):
    for i in range(written):
        h.pwrite(other, i * n)
    other, block = block, other
other, block = block, other
for i in range(written):
    h.pwrite(b"part", i * n + 4094)
part = other[:4094] + b"part" + other[4098:]
for i in range(written):
    assert h.pread(n, i * n) == part, i
# A hole is still one, and reads as zeroes.
assert h.pread(n, 2**39) == bytes(n)

# Trims and zeroes work when there is nothing left, and make room.
h.trim(4 * 2**20, 0)
h.zero(4 * 2**20, 4 * 2**20)
started = time.time()
for i in range(7 * 2**20 // n):
    h.pwrite(block, 2**38 + i * n)
print("room again: written after %.1f s" % (time.time() - started))
assert time.time() - started < 5
for i in range(7 * 2**20 // n):
    assert h.pread(n, 2**38 + i * n) == block, i
assert h.pread(8 * 2**20, 0) == bytes(8 * 2**20)
for i in range(8 * 2**20 // n, written):
    assert h.pread(n, i * n) == part, i
END
grep -q 'no memory left in the pool' "$nbdkit_log" ||
	fail "the log does not say so"
[ "$(grep -c 'no memory left' "$nbdkit_log")" -le 20 ] ||
	fail "the log says so too often"
kill -0 "$nbdkit_pid" || fail "nbdkit is gone"
