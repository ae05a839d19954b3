#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The largest disks are there at once, and their last byte is as good as the
# first.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

for size in 16T 1E 9223372036854775807; do
	start=$(date +%s%N)
	start_nbdkit "$size" memory=64M
	took=$((($(date +%s%N) - start) / 1000000))
	echo "$size: serving after $took ms"
	# Ten times what it takes with a small disk on a loaded machine.
	[ "$took" -lt 2000 ] || fail "$size: took $took ms to start"
	client <<'END' || fail "size $size"
size = h.get_size()
started = time.time()
for at in (0, 1, 4095, size // 2, 2**32 - 1, 2**41 - 1, size - 4097, size - 1):
    h.pwrite(b"%d" % (at % 10), at)
    assert h.pread(1, at) == b"%d" % (at % 10)
assert h.pread(2, size - 2) == b"\0%d" % ((size - 1) % 10)
# A 64 MiB read of nothing, and one that ends at the end.
assert h.pread(2**20, size // 3) == bytes(2**20)
assert h.pread(2**20, size - 2**20)[-1:] == b"%d" % ((size - 1) % 10)
h.trim(1, size - 1)
h.zero(4096, 0)
assert h.pread(1, size - 1) == b"\0"
h.set_strict_mode(0)
assert refused("ENOSPC", h.pwrite, b"x", size)
assert time.time() - started < 5
END
	stop_nbdkit || fail "size $size: exit status $?"
done
