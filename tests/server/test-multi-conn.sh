#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is announced is true: several connections see one disk. A write that was
# acknowledged on one is read on the other at once, with FUA and FLUSH and
# without.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 16M
peer "$(scaled 20000 1000)" <<'END' || fail "several connections"
peers = [Peer.open(KINDS[i % 3], uri=tcp_uri if i % 2 else None)
         for i in range(8)]
want = F_FLUSH | F_FUA | F_MULTI_CONN
assert all(p.flags & want == want for p in peers)
for i in range(int(args[0])):
    a, b = random.sample(peers, 2)
    off, n = random.randrange(15 * MIB), random.choice((1, 100, 4096, 9000))
    data = struct.pack(">I", i) * (n // 4 + 1)
    how = i % 4
    if how == 0:
        a.write(off, data, FUA)
    elif how == 1:
        a.write(off, data)
        random.choice(peers).flush()
    elif how == 2:
        a.write(off, data)
    else:
        random.choice((a.trim, a.zero))(off, len(data))
        data = bytes(len(data))
    assert b.read(off, len(data)) == data
END
