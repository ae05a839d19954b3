#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients that send small writes, then as many read requests as the sockets take,
# and read no reply: what the server has read of them and cannot use yet stays
# within 64 KiB for each, and a fixed amount besides.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 256M -o warm=0 -o workers=1 64M
peer <<'END' || fail "memory"
N = 300
first = Peer.open("simple")
first.write(0, bytes(64 << 10))
memory = fields(pid, "RssAnon")
peers = []
ask = b"".join(Peer.header(first, READ, i % 16 * 4096, 4096) for i in range(9000))
for i in range(N):
    p = Peer.open("simple", uri=tcp_uri if i % 2 else None)
    peers.append(p)
    # Many small writes make the server read much at a time.
    for k in range(64):
        p.s.sendall(p.header(WRITE, k % 16 * 4096, 4096) + bytes(4096))
    p.s.setblocking(False)
left = dict((p.s.fileno(), ask) for p in peers)
poll = select.epoll()
for p in peers:
    poll.register(p.s.fileno(), select.EPOLLOUT)
# Until the sockets take no more for a while.
while left:
    events = poll.poll(1)
    if not events:
        break
    for fd, what in events:
        try:
            n = os.write(fd, left[fd])
        except BlockingIOError:
            continue
        left[fd] = left[fd][n:]
        if not left[fd]:
            del left[fd]
            poll.unregister(fd)
grown = fields(pid, "RssAnon") - memory
print("%d KiB for each of %d connections" % (grown // 1024 // N, N))
assert slow or grown < N * (64 << 10) + (16 << 20), grown
# It serves all the same.
assert first.read(0, 4096) == bytes(4096)
END
