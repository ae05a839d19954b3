#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A readonly export says so, and refuses what would change it, with EPERM and in
# step; the same disk's data can be read and asked about.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
start_nbdramd -p "$pool" -m 64M -e a,size=8M
peer <<'END'
Peer.open(name="a").write(MIB, b"golden" * 1000)
END
stop_nbdramd
start_nbdramd --both -p "$pool" -m 64M -e a,readonly -e w,size=8M
peer <<'END' || fail "readonly"
for kind in KINDS:
    p = Peer.open(kind, name="a")
    assert p.flags & F_READ_ONLY
    assert p.flags & F_MULTI_CONN and p.flags & F_FLUSH
    assert not p.flags & (F_TRIM | F_WRITE_ZEROES | F_FAST_ZERO)
    for n in (1, 4096, 300000, 4 * MIB):
        refused("EPERM", p.write, MIB, b"x" * n)
        assert p.read(MIB, 6000) == b"golden" * 1000
    for call in (p.trim, p.zero):
        refused(("EPERM", "EINVAL"), call, MIB, 4096)
    p.flush()
    p.do(CACHE, 0, MIB)
    if kind != "simple":
        assert [f for n, f in p.status(0, 8 * MIB)] == [3, 0, 3]
    assert p.read(MIB, 6000) == b"golden" * 1000
    # Half a write that would have been refused anyway.
    p.send(p.prepare(WRITE, MIB, payload=bytes(MIB))[:5000])
    p.reset()
    q = Peer.open(kind, name="w")
    assert not q.flags & F_READ_ONLY
    q.write(0, b"w")
END
