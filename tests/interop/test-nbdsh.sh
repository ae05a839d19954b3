#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdsh, with programs as its manual shows them.
. ./functions.sh
. "$abs_top_srcdir/tests/interop/each-server.sh"
# nbdsh runs the first python3 on PATH, which may not be Debian's.
PATH=/usr/bin:$PATH
requires_command nbdsh
requires_python_libnbd

start_server 16M memory=64M
nbdsh -u "$uri" -c 'h.pwrite(b"hello, world", 0)' \
	-c 'print(h.pread(12, 0).decode())' >"$tmp/out" || fail "two commands"
[ "$(cat "$tmp/out")" = "hello, world" ] || fail "$(cat "$tmp/out")"

nbdsh --base-allocation -u "$uri" -c - <<'END' || fail "a program"
# One write and one read in flight at once, on two connections.
other = nbd.NBD()
other.connect_uri(h.get_uri())
assert h.can_multi_conn()
out = nbd.Buffer.from_bytearray(bytearray(b"q" * 2**20))
cookie = h.aio_pwrite(out, 2**20)
buf = nbd.Buffer(12)
other_cookie = other.aio_pread(buf, 0)
while not h.aio_command_completed(cookie):
    h.poll(-1)
while not other.aio_command_completed(other_cookie):
    other.poll(-1)
assert buf.to_bytearray() == b"hello, world"
assert other.pread(2**20, 2**20) == b"q" * 2**20

# Structured reads: a hole comes as a hole, unless DF forbids.
chunks = []
def chunk(data, offset, status, err):
    chunks.append((offset, len(data), status))
    return 0
data = h.pread_structured(2 * 2**20, 2**20, chunk)
assert data == b"q" * 2**20 + bytes(2**20)
assert sum(n for off, n, status in chunks) == 2 * 2**20
data = h.pread_structured(2**20, 2**20, chunk, nbd.CMD_FLAG_DF)

entries = []
h.block_status(2**24, 0, lambda m, o, e, err: entries.extend(e))
assert entries == [4096, 0, 2**20 - 4096, 3, 2**20, 0, 14 * 2**20, 3], entries
h.trim(2**24, 0)
del entries[:]
h.block_status(2**24, 0, lambda m, o, e, err: entries.extend(e))
assert entries == [2**24, 3], entries
h.shutdown()
END

# A client that vanishes in the middle of requests harms nobody.
for _ in 1 2 3 4 5; do
	nbdsh -u "$uri" -c - <<'END'
import os
keep = []
for i in range(64):
    buf = nbd.Buffer.from_bytearray(bytearray(b"z" * 2**18))
    keep.append(buf)
    h.aio_pwrite(buf, i % 60 * 2**18)
h.poll(1)
os._exit(0)
END
done
nbdsh -u "$uri" -c 'h.pwrite(b"last", 0)' -c 'assert h.pread(4, 0) == b"last"' ||
	fail "after clients that vanished"
