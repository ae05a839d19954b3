#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Structured and extended READs: holes come as holes and data as data, all of it
# covered once; in one piece under DF.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
for kind in KINDS[1:]:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    p = Peer.open(kind)
    p.trim(0, 16 * MIB)
    q = p.do(READ, 0, 16 * MIB)
    if nbdkit("holes"):
        assert q.chunks == [CHUNK_DATA], q.chunks
    else:
        assert q.chunks == [CHUNK_HOLE], q.chunks
    assert not any(q.data)
    p.write(MIB, b"d" * MIB)
    p.write(5 * MIB + 10, b"e" * 10)
    q = p.do(READ, 0, 16 * MIB)
    assert all((b | e) % 512 == 0 for b, e in q.covered)
    if not nbdkit("holes"):
        assert q.chunks == [CHUNK_HOLE, CHUNK_DATA] * 2 + [CHUNK_HOLE]
    assert q.data[MIB:2 * MIB] == b"d" * MIB
    assert sum(q.data) == MIB * ord("d") + 10 * ord("e")
    for off, n in ((MIB - 1, 2), (MIB + 5, 5), (2 * MIB - 1, 2), (100, 1)):
        assert p.read(off, n) == \
            (bytes(MIB) + b"d" * MIB + bytes(MIB))[off:off + n]
    q = p.do(READ, 0, 16 * MIB, DF)
    assert q.chunks == [CHUNK_DATA]
    q = p.do(READ, 0, 4096, DF)
    assert q.chunks == [CHUNK_DATA] and not any(q.data)
    # As many chunks as could be, and more than are sent: every second block.
    p.trim(0, 16 * MIB)
    p.write_all([(i * 8192, b"f" * 4096) for i in range(512)])
    whole = (b"f" * 4096 + bytes(4096)) * 512
    for off, n in ((0, 4 * MIB), (1, 4 * MIB - 1), (4095, 100000),
                   (8191, MIB), (4096, 4096)):
        assert p.read(off, n) == whole[off:off + n]
    p.close()
END
