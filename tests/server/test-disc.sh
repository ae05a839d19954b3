#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# DISC, and a client that ends its side: what was asked for before is done and
# answered, however slowly the replies are read, then the connection ends.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 1T
peer <<'END' || fail "DISC"
first = Peer.open("simple")
for i in range(16):
    first.write(i * MIB, bytes([i + 1]) * MIB)
def reads(p):
    p.send(b"".join(p.prepare(READ, i * MIB, MIB) for i in range(16)))
def take(p, pause=0):
    while p.pending:
        time.sleep(pause)
        q = p.answer()
        assert q.error == 0
        assert q.data == bytes([q.offset // MIB + 1]) * MIB
    p.closed()
for u in (uri, tcp_uri):
    for kind in KINDS:
        p = Peer.open(kind, uri=u)
        reads(p)
        p.disc()
        take(p)
        p = Peer.open(kind, uri=u)
        reads(p)
        p.s.shutdown(socket.SHUT_WR)
        take(p)
        # Writes and a long trim before it are done.
        p = Peer.open(kind, uri=u)
        p.send(b"".join(p.prepare(WRITE, 2**30 + i * 4096, payload=b"w" * 4096)
                        for i in range(64)))
        for i in range(16):
            p.send(p.prepare(TRIM, 2**35 + i * 2**32, 2**32 - 1))
        p.disc()
        assert all(q.error == 0 for q in p.drain())
        p.closed()
        assert first.read(2**30, 64 * 4096) == b"w" * (64 * 4096)
        first.trim(2**30, 64 * 4096)
        # Nothing that comes behind DISC is done.
        p = Peer.open(kind, uri=u)
        p.send(p.header(DISC) + p.prepare(WRITE, 0, payload=b"after"))
        p.closed()
        assert first.read(0, 5) == b"\1" * 5
# Slowly: 16 MiB in about 5 s, more than any pause of the server's own.
slow_ones = []
for u in (uri, tcp_uri):
    p = Peer.open("structured", uri=u, rcvbuf=65536)
    reads(p)
    p.disc()
    slow_ones.append(p)
for i in range(16):
    time.sleep(.3)
    for p in slow_ones:
        assert p.answer().error == 0
for p in slow_ones:
    p.closed()
END
