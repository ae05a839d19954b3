#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A fast zero is made of holes; where the client wants none it is refused at
# once, nothing changed, and the client can do without.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

start_nbdkit 64M memory=256M
client <<'END'
assert h.can_zero() and h.can_fast_zero()
data = random.randbytes(2**20)
h.pwrite(data, 0)
for flags in (nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE,
              nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA):
    for off, n in ((0, 2**20), (1, 4095), (4096, 4096), (2**25, 2**25)):
        assert refused("ENOTSUP", h.zero, n, off, flags)
assert h.pread(2**20, 0) == data
# Parts of blocks are no obstacle.
h.zero(10000, 1000, nbd.CMD_FLAG_FAST_ZERO)
assert h.pread(2**20, 0) == data[:1000] + bytes(10000) + data[11000:]
h.zero(10000, 1000, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_FUA)
h.zero(2**26, 0, nbd.CMD_FLAG_FAST_ZERO)
assert h.pread(2**20, 0) == bytes(2**20)
END
