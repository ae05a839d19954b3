#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# WRITE_ZEROES and TRIM: the range reads as zeroes, its neighbours stay; NO_HOLE
# leaves data, FAST_ZERO is refused where it would not be fast, and then changes
# nothing.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
for kind in KINDS:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    p = Peer.open(kind)
    for command in (TRIM, WRITE_ZEROES):
        for flags in (0, FUA, NO_HOLE, FAST_ZERO, FAST_ZERO | FUA):
            if command == TRIM and flags & ~FUA:
                continue
            for off, n in ((4096, 4096), (4096, 12288), (4097, 1), (5000, 9000),
                           (8191, 2), (0, 1), (100, 300000)):
                p.write(0, b"\xee" * 400000)
                p.do(command, off, n, flags)
                assert off == 0 or p.read(0, off) == b"\xee" * off
                assert p.read(off, n) == bytes(n), (command, flags, off, n)
                assert p.read(off + n, 5000) == b"\xee" * 5000
                if kind != "simple" and (off | n) % 4096 == 0:
                    hole = 0 if flags & NO_HOLE else 3
                    assert p.status(off, n, REQ_ONE)[0][1] == hole
    # As slow as writing: not with FAST_ZERO.
    p.write(0, b"\xee" * MIB)
    refused("ENOTSUP", p.zero, 0, MIB, NO_HOLE | FAST_ZERO)
    assert p.read(0, MIB) == b"\xee" * MIB
    # And ENOTSUP comes of nothing else.
    p.zero(0, 16 * MIB, NO_HOLE)
    p.zero(0, 16 * MIB, FAST_ZERO)
    p.trim(0, 16 * MIB)
    p.close()
END
