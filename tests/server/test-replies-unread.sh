#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A client with 256 unread replies of 256 KiB that goes away, again and again,
# while another reads all the time.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 256M 128M
peer "$(scaled 500 30)" <<'END' || fail "unread replies"
import threading
N = 256 * 1024
other = Peer.open("simple")
for i in range(128):
    other.write(i * MIB, bytes([i]) * MIB)
stop, reads, slowest = False, 0, 0
def read():
    global reads, slowest
    while not stop:
        i = reads * 7 % 128
        started = time.monotonic()
        assert other.read(i * MIB, 4096) == bytes([i]) * 4096
        slowest = max(slowest, time.monotonic() - started)
        reads += 1
reader = threading.Thread(target=read)
reader.start()
before = descriptors(pid)
memory = fields(pid, "RssAnon")
for round in range(int(args[0])):
    p = Peer.open(random.choice(KINDS), uri=tcp_uri if round % 2 else None)
    p.send(b"".join(p.prepare(READ, i % 500 * N, N) for i in range(256)))
    how = round % 4
    if how == 1:
        p.answer()          # some are read
    if how == 2:
        p.s.shutdown(socket.SHUT_WR)
    if how == 3:
        p.reset()
    else:
        p.close()
    assert reader.is_alive()
assert eventually(10, lambda: descriptors(pid) <= before), descriptors(pid)
count = reads
assert eventually(10, lambda: reads > count + 10)
stop = True
reader.join()
print("%d rounds; %d reads beside them, the slowest took %.0f ms; %d KiB more"
      % (int(args[0]), reads, slowest * 1000,
         (fields(pid, "RssAnon") - memory) // 1024))
assert slow or fields(pid, "RssAnon") - memory < 8 * MIB
assert slowest < 2
END
