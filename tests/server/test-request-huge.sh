#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lengths of nearly 4 GiB are not believed: READ gets an error, WRITE an error
# after its payload or a disconnect, and no memory follows the claim.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 8T
peer "$(scaled 200 40)" <<'END' || fail "huge requests"
n = int(args[0])
HUGE = 2**32 - 1
other = Peer.open()
other.write(0, b"other" * 1000)
before = fields(pid, "VmRSS")
for kind in KINDS:
    peers = []
    for i in range(n):
        p = Peer.open(kind, uri=tcp_uri if i % 2 else None)
        peers.append(p)
        refused("EINVAL", p.do, READ, 0, HUGE)
        try:
            p.send(p.header(WRITE, 0, HUGE, PAYLOAD_LEN if kind == "extended"
                            else 0, 7) + bytes(MIB))
        except OSError:
            assert kind == "extended"
        # What is allowed, claimed and not sent.
        q = Peer.open(kind)
        peers.append(q)
        q.send(q.header(WRITE, 0, 64 * MIB, PAYLOAD_LEN if kind == "extended"
                        else 0, 7) + b"x" * 1000)
    after = fields(pid, "VmRSS")
    print("%s: %d connections claim 4 GiB each: %d KiB more"
          % (kind, n, (after - before) // 1024))
    # The pool is 64 MiB.
    assert slow or after - before < 128 * MIB, after - before
    assert other.read(0, 5000) == b"other" * 1000
    other.write(8192, b"still" * 1000)
    for p in peers:
        p.close()

# All of it: dropped, then one error, and in step.
with Peer.open("simple") as p:
    p.send(p.header(WRITE, 0, 2**27, 0, 9))
    for i in range(128):
        p.send(bytes(MIB))
    p.pending[9] = [type("R", (), dict(command=WRITE, offset=0, cookie=9,
                                       length=2**27, chunks=[]))()]
    assert p.answer().error == 22
    assert p.read(0, 5) == b"other"
END
