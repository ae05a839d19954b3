#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Disks that end in the middle of a block.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

for size in 1 2 511 512 4095 4096 4097 1000003 2097151 2097153; do
	start_nbdkit "$size" memory=64M
	client "$size" <<'END' || fail "size $size"
size = int(args[0])
assert h.get_size() == size
assert extents(0, size) == [[0, size, "hole"]]
assert h.pread(size, 0) == bytes(size)
data = random.randbytes(size)
h.pwrite(data, 0)
assert h.pread(size, 0) == data
assert extents(0, size) == [[0, size, "data"]]
# The last byte alone.
h.pwrite(b"z", size - 1)
data = data[:-1] + b"z"
assert h.pread(1, size - 1) == b"z"
assert h.pread(size, 0) == data
# Across the last border between two blocks.
at = max(0, (size - 1) // 4096 * 4096 - 3)
h.pwrite(b"q" * (size - at), at)
data = data[:at] + b"q" * (size - at)
assert h.pread(size, 0) == data
# Zeroes to the end, by each of the three ways.
for flags in (0, nbd.CMD_FLAG_NO_HOLE, nbd.CMD_FLAG_FAST_ZERO):
    h.pwrite(data, 0)
    h.zero(size - at, at, flags)
    assert h.pread(size, 0) == data[:at] + bytes(size - at)
h.pwrite(data, 0)
h.trim(size, 0)
assert h.pread(size, 0) == bytes(size)
assert extents(0, size) == [[0, size, "hole"]]
# Nothing lies behind the end.
h.set_strict_mode(0)
assert refused("EINVAL", h.pread, 1, size)
assert refused("ENOSPC", h.pwrite, b"x", size)
assert refused("ENOSPC", h.pwrite, b"xx", size - 1)
END
	stop_nbdkit || fail "size $size: exit status $?"
done
