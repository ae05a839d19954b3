#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A fixed disk can be filled to its last byte, whatever it went through, and its
# memory is taken from the start.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused 'needs memory=' 64M alloc=fixed memory=1M
need=$(sed -n 's/.*needs memory=\([0-9A-Z]*\) .*/\1/p' "$tmp/refused")
start_nbdkit 64M alloc=fixed memory="$need"
all_there() { [ "$(pool_bytes)" -ge $((64 << 20)) ]; }
wait_for 10 all_there || fail "only $(pool_bytes) bytes were taken"
client <<'END' || fail "fixed disk"
size = h.get_size()
# Entries stay holes until something is written.
assert extents(0, size) == [[0, size, "hole"]]
def fill():
    data = random.randbytes(2**20)
    for i in range(64):
        h.pwrite(data, i * 2**20)
    for i in range(64):
        assert h.pread(2**20, i * 2**20) == data
    h.pwrite(b"x", size - 1)
fill()
h.trim(size, 0)
assert extents(0, size) == [[0, size, "hole"]]
fill()
h.zero(size, 0, nbd.CMD_FLAG_NO_HOLE)
assert extents(0, size) == [[0, size, "data"]]
h.zero(size, 0)
# Scattered, so that each table is needed.
for i in range(size // 2**21):
    h.pwrite(b"y", i * 2**21)
fill()
END
# A trim does not take the guarantee away.
client <<'END'
h.trim(2**26, 0)
END
wait_for 5 pool_settled
all_there || fail "after a trim only $(pool_bytes) bytes are kept"
