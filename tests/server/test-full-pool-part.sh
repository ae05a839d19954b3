#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A long write of which the pool has memory for a part only: it gets ENOSPC in time,
# although what has come of it already holds the rest.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M -o "full=wait 1s" 1T
peer <<'END' || fail "part of a write"
p = Peer.open("simple")
block = pattern(1, 65536)
written = 0
while True:
    try:
        p.write(written, block)
    except Refused as e:
        assert e.name == "ENOSPC", e
        break
    written += len(block)
# Room for a part of it again, and for the part only.
p.trim(0, 3 * MIB // 2)
for kind in ("simple", "structured"):
    q = Peer.open(kind, uri=tcp_uri)
    q.s.settimeout(60)
    started = time.monotonic()
    refused("ENOSPC", q.write, 2**39, pattern(2, 6 * MIB))
    print("%s: ENOSPC after %.1f s" % (kind, time.monotonic() - started))
    assert p.read(written - 65536, 65536) == block
# All of it, once there is room.
p.trim(0, 16 * MIB)
data = pattern(3, 6 * MIB)
p.write(2**38, data)
assert p.read(2**38, len(data)) == data
END
