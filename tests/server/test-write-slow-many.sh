#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Honest clients that are held back while others fill the memory for payloads on
# their way, and then need a moment before they go on, as on a busy host or after
# a lost packet: none of them is taken for one that hoards.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 1G 4G
peer <<'END' || fail "slow writers"
# Of 1G there are 64 MiB for payloads on their way: the writes of 64 clients.
peers = []
for i in range(150):
    p = Peer.open("simple")
    p.rest = memoryview(p.prepare(WRITE, i * MIB, payload=bytes([i]) * MIB))
    p.s.setblocking(False)
    peers.append(p)
started, pauses = time.monotonic(), 0
busy = list(peers)
while busy:
    for p in busy:
        try:
            while len(p.rest):
                p.rest = p.rest[p.s.send(p.rest):]
        except BlockingIOError:
            pass
    busy = [p for p in busy if len(p.rest)]
    time.sleep(.3)
    pauses += 1
for p in peers:
    p.s.settimeout(30)
    assert p.answer().error == 0
print("%d pauses, %.1f s" % (pauses, time.monotonic() - started))
for i, p in enumerate(peers):
    assert peers[0].read(i * MIB, MIB) == bytes([i]) * MIB
END
