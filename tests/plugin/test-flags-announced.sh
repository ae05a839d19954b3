#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is announced to clients, and that it is served.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

start_nbdkit 256M memory=512M
client <<'END' || fail "flags"
assert not h.is_read_only()
assert not h.is_rotational()
for can in (h.can_flush, h.can_fua, h.can_trim, h.can_zero, h.can_fast_zero,
            h.can_multi_conn, h.can_cache, h.can_df):
    assert can(), can.__name__
assert h.can_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
assert h.get_block_size(nbd.SIZE_MINIMUM) == 1
assert h.get_block_size(nbd.SIZE_PREFERRED) == 4096
assert h.get_block_size(nbd.SIZE_MAXIMUM) == 64 * 2**20

fua = nbd.CMD_FLAG_FUA
h.pwrite(b"a" * 10000, 5000, fua)
h.zero(100, 5000, fua)
h.zero(100, 5100, fua | nbd.CMD_FLAG_NO_HOLE)
h.trim(4096, 8192, fua)
h.flush()
h.cache(2**20, 0)
h.cache(1, 2**28 - 1)
assert h.pread(10000, 5000) == (bytes(200) + b"a" * 2992 + bytes(4096) +
                                b"a" * 2712)

# The largest request, and every small one around a border of blocks.
data = random.randbytes(64 * 2**20)
h.pwrite(data, 12345, fua)
assert h.pread(len(data), 12345) == data
for off in range(4090, 4100):
    for n in range(1, 9):
        h.pwrite(b"%d" % n * n, off)
        assert h.pread(n, off) == b"%d" % n * n

# Several connections are one disk.
others = [connect() for i in range(4)]
for i, other in enumerate(others):
    other.pwrite(b"%d" % i * 4096, 2**27 + i * 4096)
for i, other in enumerate(others):
    for j in range(4):
        assert other.pread(4096, 2**27 + j * 4096) == b"%d" % j * 4096
END

# -r: nothing of it is changed.
start_nbdkit -r 1M
client <<'END' || fail "-r"
assert h.is_read_only()
h.set_strict_mode(0)
for call in ((h.pwrite, b"x", 0), (h.trim, 4096, 0), (h.zero, 4096, 0)):
    assert refused("EPERM", *call)
assert h.pread(4096, 0) == bytes(4096)
END
