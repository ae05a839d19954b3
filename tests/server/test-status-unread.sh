#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients that ask for the status of a disk in many pieces, for several contexts, and
# read no answer: the server keeps no more than 64 KiB for each.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 256M -o warm=0 -o workers=1 64M
peer <<'END' || fail "memory"
N = 60
first = Peer.open("simple")
for i in range(2048):
    first.write(i * 8192, b"a" * 4096)
for kind in ("structured", "extended"):
    peers = []
    memory = fields(pid, "RssAnon")
    for i in range(N):
        p = Peer.open(kind, uri=tcp_uri if i % 2 else None,
                      contexts=("base:allocation", "qemu:allocation-depth"))
        p.s.setblocking(False)
        peers.append(p)
        try:
            for k in range(200):
                p.s.send(p.header(BLOCK_STATUS, 0, 16 * MIB, 0, k))
        except BlockingIOError:
            pass
    # Looked at, as often as others are served.
    for i in range(200):
        assert first.read(0, 1) == b"a"
    grown = fields(pid, "RssAnon") - memory
    print("%s: %d KiB for each of %d connections"
          % (kind, grown // 1024 // N, N))
    assert slow or grown < N * (64 << 10) + MIB, grown
    for p in peers:
        p.close()
# What is asked is answered in full all the same.
q = Peer.open("structured", contexts=("base:allocation",))
at = 0
while at < 16 * MIB:
    extents = q.status(at, 16 * MIB - at)
    assert extents
    for length, flags in extents:
        assert flags == (0 if at % 8192 == 0 else 3), (at, length, flags)
        at += length
END
