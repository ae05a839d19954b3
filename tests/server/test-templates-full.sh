#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A full pool, and a client that opens one new name after the other, each of which
# waits for memory: what has expired is deleted all the same, and so there is some.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

conf=$tmp/conf
cat >"$conf" <<'END'
[pool]
size = 32M
[export big]
size = 256M
writers = many
[template old-*]
size = 64K
expire = 2s
[template new-*]
size = 64K
END
start_nbdramd -c "$conf"
peer <<'END' || fail "expire in a full pool"
import threading
for i in range(20):
    Peer.open(name="old-%d" % i).close()
def write(k):
    p, at = Peer.open(name="big"), k * 4 * MIB
    while True:
        try:
            p.write(at, b"x" * MIB)
        except Refused:
            pass
        at = (at + MIB) % (255 * MIB)
def go():
    for i in range(100000):
        try:
            Peer.open(name="new-%d" % i).close()
        except Refused:
            pass
for i in range(40):
    threading.Thread(target=write, args=(i,), daemon=True).start()
threading.Thread(target=go, daemon=True).start()
gone = eventually(10, lambda: not [n for n in disks() if n.startswith("old-")])
print(gone, sorted(disks()), flush=True)
os._exit(not gone)
END
stop_nbdramd
