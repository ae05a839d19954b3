#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A smaller size for a disk with data at its end; without, it may shrink.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
start_nbdkit 8M pool="$pool" memory=64M
client <<'END'
h.pwrite(b"begin", 0)
h.pwrite(b"e", 8 * 1024 * 1024 - 1)
END
stop_nbdkit

for size in 4M 8388607 1; do
	refused "size=$size: the disk in $pool has 8M and data beyond" \
		"$size" pool="$pool"
done
start_nbdkit pool="$pool" memory=64M
client <<'END' || fail "refusing has changed the disk"
assert h.get_size() == 8 * 1024 * 1024
assert h.pread(5, 0) == b"begin"
assert h.pread(1, 8 * 1024 * 1024 - 1) == b"e"
h.trim(4 * 1024 * 1024, 4 * 1024 * 1024)
END
stop_nbdkit
start_nbdkit 4M pool="$pool" memory=64M
client <<'END' || fail "shrinking has not worked"
assert h.get_size() == 4 * 1024 * 1024
assert h.pread(5, 0) == b"begin"
END
stop_nbdkit
# What was cut off does not come back.
start_nbdkit 8M pool="$pool" memory=64M
client <<'END' || fail "growing after shrinking"
assert h.pread(8 * 1024 * 1024, 0) == b"begin".ljust(8 * 1024 * 1024, b"\0")
END
