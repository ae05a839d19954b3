#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Under nbdkit's filters.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

has_filter() { "$nbdkit" --dump-plugin --filter="$1" null >/dev/null 2>&1; }

# cow: writes stay above the plugin, reads fall through to it.
has_filter cow && {
	new_pool
	start_nbdkit 8M pool="$pool" memory=64M
	client <<'END'
h.pwrite(b"below" * 2000, 1000)
END
	stop_nbdkit
	start_nbdkit --filter=cow pool="$pool" memory=64M
	client <<'END' || fail "cow"
assert h.pread(10000, 1000) == b"below" * 2000
h.pwrite(b"above" * 100, 5000)
h.trim(4096, 2**20)
h.pwrite(bytes(10), 0)
assert h.pread(500, 5000) == b"above" * 100
assert h.pread(500, 5500) == b"below" * 100
h.flush()
END
	stop_nbdkit
	start_nbdkit pool="$pool" memory=64M
	client <<'END' || fail "cow wrote through"
assert h.pread(10000, 1000) == b"below" * 2000
END
	stop_nbdkit
}

# partition: one of several in a table.
has_filter partition && {
	new_pool
	start_nbdkit 16M pool="$pool" memory=64M
	client <<'END' || fail "writing a partition table"
import struct
def entry(first, count):
    return struct.pack("<8B2L", 0, 0, 0, 0, 0x83, 0, 0, 0, first, count)
h.pwrite(entry(2048, 4096) + entry(8192, 8192) + bytes(32) + b"\x55\xaa", 446)
END
	stop_nbdkit
	start_nbdkit --filter=partition partition=2 pool="$pool" memory=64M
	client <<'END' || fail "partition"
assert h.get_size() == 8192 * 512
h.pwrite(b"second", 0)
h.zero(4096, 2**20)
h.trim(2**20, 2**20)
assert h.pread(6, 0) == b"second"
h.pwrite(b"e", h.get_size() - 1)
END
	stop_nbdkit
	start_nbdkit pool="$pool" memory=64M
	client <<'END' || fail "partition, whole disk"
assert h.pread(6, 8192 * 512) == b"second"
assert h.pread(1, 16384 * 512 - 1) == b"e"
END
	stop_nbdkit
}

# stats: counts what went by.
has_filter stats && {
	start_nbdkit --filter=stats 8M memory=64M statsfile="$tmp/stats"
	client <<'END' || fail "stats"
h.pwrite(b"x" * 2**20, 0)
assert h.pread(2**20, 0) == b"x" * 2**20
h.trim(2**20, 0)
h.zero(2**20, 0)
h.flush()
extents(0, 2**20)
END
	stop_nbdkit || fail "stats: exit status $?"
	cat "$tmp/stats"
	for operation in read write trim zero flush extents; do
		grep -q "^$operation: 1 ops" "$tmp/stats" ||
			fail "stats: no line for $operation"
	done
}

# error: fails some requests above the plugin; the others are right.
has_filter error && {
	start_nbdkit --filter=error 8M memory=64M \
		error-pwrite=ENOSPC error-pwrite-rate=30% \
		error-pread=EIO error-pread-rate=30%
	client <<'END' || fail "error"
failed = 0
for i in range(500):
    off = random.randrange(2000) * 4096
    try:
        h.pwrite(b"%4d" % i * 1024, off)
    except nbd.Error as e:
        assert e.errno == "ENOSPC"
        failed += 1
        continue
    while True:
        try:
            assert h.pread(4096, off) == b"%4d" % i * 1024
            break
        except nbd.Error as e:
            assert e.errno == "EIO"
            failed += 1
assert failed > 50
END
	stop_nbdkit || fail "error: exit status $?"
}

# blocksize: requests are made larger and aligned, or cut.
has_filter blocksize && {
	start_nbdkit --filter=blocksize 8M memory=64M \
		minblock=4096 maxdata=65536 maxlen=1M
	client <<'END' || fail "blocksize"
h.pwrite(b"x" * 100000, 1234)
assert h.pread(100002, 1233) == b"\0" + b"x" * 100000 + b"\0"
h.zero(3 * 2**20, 5000)
h.trim(3 * 2**20, 2**22)
assert h.pread(3766, 1234) == b"x" * 3766
assert h.pread(10**6, 5000) == bytes(10**6)
END
	stop_nbdkit || fail "blocksize: exit status $?"
}
exit 0
