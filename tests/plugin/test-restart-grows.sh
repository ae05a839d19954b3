#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A larger size makes the disk that is there larger; what is new reads as
# zeroes, also behind an end in the middle of a block.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
before=0
for size in 1000 4096 5001 1M 100000001 8G 16T 9223372036854775807; do
	start_nbdkit "$size" pool="$pool" memory=64M
	client "$before" <<'END' || fail "size $size"
before, size = int(args[0]), h.get_size()
n = min(size - before, 2**20)
assert h.pread(n, before) == bytes(n)
if before:
    assert h.pread(5, before - 5) == b"[end]"
h.pwrite(b"[end]", size - 5)
END
	before=$(nbdinfo --size "$uri")
	stop_nbdkit || fail "size $size: exit status $?"
done
start_nbdkit pool="$pool" memory=64M
client <<'END' || fail "at last"
assert h.get_size() == 2**63 - 1
for at in (1000, 4096, 5001, 2**20, 100000001, 2**33, 2**44, 2**63 - 1):
    assert h.pread(5, at - 5) == b"[end]", at
END
