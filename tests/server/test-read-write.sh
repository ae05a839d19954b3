#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Bytes come back as they were written: odd offsets and lengths, over 2, 3 and 17
# blocks of the store, around 2^31 and 2^32, up to the largest payload, alone and
# many at once; each kind of reply.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

size=6G everywhere <<'END'
B = 4096
for kind in KINDS:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    p = Peer.open(kind)
    p.trim(0, 2**31)
    for blocks in (1, 2, 3, 17, 256):
        for base in (0, 2**31 - 3 * B, 2**32 - 2 * B, 6 * 2**30 - 300 * B):
            off = base + random.randrange(1, B)
            n = (blocks - 1) * B + random.randrange(1, B)
            data = pattern(off, n)
            p.write(off, data)
            assert p.read(off, n) == data, (kind, off, n)
            around = p.read(off - 1, n + 2)
            assert around[1:-1] == data
            # Parts of it.
            a = random.randrange(n)
            b = random.randrange(a, n) + 1
            assert p.read(off + a, b - a) == data[a:b]
            p.write(off + a, data[a:b])
            assert p.read(off, n) == data
    # The last byte, the largest payload.
    p.write(6 * 2**30 - 1, b"Z")
    assert p.read(6 * 2**30 - 2, 2)[1:] == b"Z"
    data = pattern(kind, MIB) * 16
    p.write(2**30 + 77, data)
    assert p.read(2**30 + 77, len(data)) == data
    assert p.read(2**30 - MIB, 64 * MIB)[MIB + 77:][:len(data)] == data
    p.trim(2**30, 32 * MIB)
    # Many at once; a model tells what must be there.
    p.trim(0, 4 * MIB)
    model = bytearray(4 * MIB)
    for round in range(max(3, int(100 * scale))):
        spans, batch = [], []
        for i in range(64):
            n = random.choice((1, 512, B, B + 1, 3 * B, 100000))
            off = random.randrange(len(model) - n)
            if any(off < e and b < off + n for b, e in spans):
                continue
            spans.append((off, off + n))
            if random.random() < .2:
                batch.append(p.prepare(random.choice((TRIM, WRITE_ZEROES)),
                                       off, n))
                model[off:off + n] = bytes(n)
            else:
                data = pattern(random.random(), n)
                batch.append(p.prepare(WRITE, off, payload=data))
                model[off:off + n] = data
        p.send(b"".join(batch))
        assert not any(q.error for q in p.drain())
        batch = [p.prepare(READ, off, end - off) for off, end in spans]
        p.send(b"".join(batch))
        for q in p.drain():
            assert q.data == model[q.offset:q.offset + q.length]
    assert p.read(0, len(model)) == model
    p.close()
END
