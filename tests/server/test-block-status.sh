#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# BLOCK_STATUS tells data from holes, whole and from the middle; REQ_ONE; more
# extents than one answer has; for extended headers 64-bit ranges and a choice of
# contexts.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

size=9T everywhere <<'END'
SIZE, HOLE = 9 * 2**40, 3
for kind in KINDS[1:]:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    p = Peer.open(kind)
    def map(begin, end):
        """All of it, however many answers it takes."""
        found, at = [], begin
        while at < end:
            n = min(end - at, 2**32 - 4096 if kind == "structured"
                    else 2**63)
            pairs = p.status(at, n)
            for length, flags in pairs:
                length = min(length, end - at)
                if found and found[-1][1] == flags:
                    found[-1][0] += length
                else:
                    found.append([length, flags])
                at += length
        return found
    for at in range(0, SIZE, 2**31):
        p.trim(at, 2**31)
    assert map(0, SIZE) == [[SIZE, HOLE]]
    p.write(2**41 + 10, b"x" * 8192)
    p.write(SIZE - 1, b"y")
    assert map(0, SIZE) == [[2**41, HOLE], [3 * 4096, 0],
                            [SIZE - 2**41 - 4 * 4096, HOLE], [4096, 0]]
    assert p.status(2**41 + 100, 200)[0][1] == 0
    assert p.status(2**41 - 1, 2, REQ_ONE) == [(1, HOLE)]
    assert p.status(2**41 - 10, 20) in ([(10, HOLE), (10, 0)],
                                        [(10, HOLE), (3 * 4096, 0)])
    if kind == "extended":
        assert p.status(0, SIZE, REQ_ONE) == [(2**41, HOLE)]
        # One context of two, chosen by a payload.
        q = Peer.open(kind, contexts=("base:allocation",
                                      "qemu:allocation-depth"))
        ids = sorted(q.contexts.values())
        assert len(ids) == 2
        def choose(ids, offset=2**41, length=4096):
            data = struct.pack(">Q", length) + b"".join(
                struct.pack(">I", i) for i in ids)
            return set(q.do(BLOCK_STATUS, offset, len(data), PAYLOAD_LEN,
                            data).extents)
        assert choose(ids) == set(ids)
        for i in ids:
            assert choose([i]) == {i}
        for bad in ([], [0], [99], [ids[0]] * 2, ids + [99]):
            refused("EINVAL", choose, bad)
        refused("EINVAL", choose, ids, SIZE, 4096)
        refused("EINVAL", choose, ids, 0, 0)
        assert choose(ids, 0, SIZE) == set(ids)
        q.close()
    # Every second block, far more often than one answer tells.
    n = 3000
    p.write_all([(i * 8192, b"z" * 4096) for i in range(n)])
    assert map(0, n * 8192) == [[4096, 0], [4096, HOLE]] * n
    p.close()
END
