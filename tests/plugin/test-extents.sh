#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is data and what is a hole, after random writes, trims and zeroes, in the
# unit of 4 KiB blocks.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_command nbdinfo

start_nbdkit 64M memory=256M
client "$(scaled 4000 200)" <<'END'
size, block = h.get_size(), 4096
blocks = [False] * (size // block)

def check():
    want = []
    for i, data in enumerate(blocks):
        kind = "data" if data else "hole"
        if want and want[-1][2] == kind:
            want[-1][1] += block
        else:
            want.append([i * block, block, kind])
    got = extents(0, size)
    assert got == want, [x for x in zip(got, want) if x[0] != x[1]][:3]

check()
for i in range(int(args[0])):
    first = random.randrange(len(blocks))
    n = min(len(blocks) - first, int(2 ** random.uniform(0, 11)))
    what = random.randrange(5)
    # Not on the borders of blocks: only whole blocks become holes, and a part
    # that is written makes a whole one data.
    head, tail = random.choice(((0, 0), (0, 1), (7, 0), (512, 4095)))
    if what == 0:
        h.trim(n * block, first * block)
        blocks[first:first + n] = [False] * n
    elif what == 1:
        h.zero(n * block, first * block, nbd.CMD_FLAG_NO_HOLE)
        blocks[first:first + n] = [True] * n
    elif what == 2:
        h.zero(n * block, first * block)
        blocks[first:first + n] = [False] * n
    elif n * block > head + tail:
        h.pwrite(b"x" * (n * block - head - tail), first * block + head)
        blocks[first:first + n] = [True] * n
    if i % 50 == 0:
        check()
check()

# Of a part, from anywhere; and one extent only.
for i in range(200):
    off = random.randrange(size)
    n = random.randrange(1, size - off + 1)
    got = extents(off, n)
    assert got[0][0] == off and sum(got[-1][:2]) == off + n
    for at, m, kind in got:
        assert blocks[at // block] == (kind == "data")
        assert blocks[(at + m - 1) // block] == (kind == "data")
    one = []
    def first(context, at, pairs, err):
        one.extend(pairs)
        return 0
    h.block_status(n, off, first, nbd.CMD_FLAG_REQ_ONE)
    assert len(one) == 2 and one[0] == got[0][1], (one, got[0])

# A part of a block that is trimmed stays data; a part of a hole stays a hole.
h.trim(size, 0)
h.pwrite(b"x" * 3 * block, 0)
h.trim(block + 200, block - 100)
assert h.pread(3 * block, 0).replace(b"\0", b"") == b"x" * (2 * block - 200)
assert extents(0, 4 * block) == [[0, block, "data"], [block, block, "hole"],
                                 [2 * block, block, "data"],
                                 [3 * block, block, "hole"]]
h.zero(100, 10 * block + 50)
assert extents(10 * block, block) == [[10 * block, block, "hole"]]

# Every second block: as many extents as there can be.
h.trim(size, 0)
for i in range(0, len(blocks), 2):
    h.pwrite(b"y" * block, i * block)
blocks = [i % 2 == 0 for i in range(len(blocks))]
check()
h.trim(size, 0)
h.pwrite(b"x", 5000)
h.pwrite(b"x" * 100000, 2**20)
END
# shellcheck disable=SC2181
[ $? = 0 ] || fail "extents"
nbdinfo --map=base:allocation "$uri" | awk '{ print $1, $2, $3, $4 }' >"$tmp/map"
cat "$tmp/map"
cmp "$tmp/map" - <<'END' || fail "nbdinfo --map"
0 4096 3 hole,zero
4096 4096 0 data
8192 1040384 3 hole,zero
1048576 102400 0 data
1150976 65957888 3 hole,zero
END
