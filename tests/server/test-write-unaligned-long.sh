#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A long write that begins and ends within blocks takes effect in pieces, and each
# block as a whole all the same: when its client goes away halfway, no block is a
# mixture of old and new, but those at its ends; nor when several such writes meet.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 256M 64M
peer <<'END' || fail "torn blocks"
import threading
L = 20 * MIB
AT = 512
r = Peer.open("simple", timeout=60)

def blocks():
    for off in range(0, 32 * MIB, MIB):
        data = r.read(off, MIB)
        for i in range(0, MIB, 4096):
            yield off + i, data[i:i + 4096]

for cut in (12 * MIB, 8 * MIB, 8 * MIB + 100, 9 * MIB - AT, 300000):
    for off in range(0, 32 * MIB, 4 * MIB):
        r.write(off, b"A" * (4 * MIB))
    w = Peer.open("simple", uri=tcp_uri)
    w.send(w.prepare(WRITE, AT, payload=b"B" * L)[:28 + cut])
    w.close()
    new = 0
    for off, b in blocks():
        new += b.count(b"B")
        assert off == 0 or len(set(b)) == 1, (cut, hex(off), b.count(b"B"))
    print("cut after %d bytes: %d are new" % (cut, new))
    assert new <= cut

# Three writers of one range, each with a byte of its own.
stop = threading.Event()
def writer(byte):
    w = Peer.open("simple", timeout=60)
    while not stop.is_set():
        w.write(AT, byte * (9 * MIB))
threads = [threading.Thread(target=writer, args=(b,)) for b in (b"C", b"D", b"E")]
for t in threads:
    t.start()
until = time.monotonic() + max(1, 20 * scale)
while time.monotonic() < until:
    for off in (8 * MIB - 4096, 8 * MIB, 256 * 1024 - 4096, 256 * 1024):
        b = r.read(off, 4096)
        assert len(set(b)) == 1, (hex(off), sorted(set(b)))
stop.set()
for t in threads:
    t.join()
END
