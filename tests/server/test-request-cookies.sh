#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Cookies are the client's: 64 requests in flight with the same one, all zeroes
# and all ones, and each gets its own data.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
for kind in KINDS:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    p = Peer.open(kind)
    for i in range(64):
        p.write(i * 5000, struct.pack(">I", i) * 1250)
    for cookie in (0, 2**64 - 1, 0x6744669800000000, None):
        p.send(b"".join(p.prepare(READ, i * 5000, 5000, cookie=cookie)
                        for i in range(64)))
        done = p.drain()
        got = set(bytes(q.data) for q in done)
        assert got == set(struct.pack(">I", i) * 1250 for i in range(64))
        if kind != "simple" or cookie is None:
            for q in done:
                assert q.data == struct.pack(">I", q.offset // 5000) * 1250
        # Commands of all kinds with one cookie.
        p.send(b"".join(
            p.prepare(c, 0, n, payload=bytes(n if c == WRITE else 0),
                      cookie=cookie or 0)
            for c, n in ((WRITE, 4096), (TRIM, 8192), (FLUSH, 0),
                         (WRITE_ZEROES, 4096), (CACHE, 1000)) * 12))
        assert not any(q.error for q in p.drain())
        p.write(0, struct.pack(">I", 0) * 1250)
        p.write(5000, struct.pack(">I", 1) * 1250)
    p.close()
END
