#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 50 clients that ask and never read their replies, beside 200 that do: these
# have at least nine tenths of the rate that they have alone, and the server's
# memory is bounded.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 256M -o warm=0 64M
peer "$(scaled 10 1)" <<'END' || fail "clients that do not read"
seconds = float(args[0])
first = Peer.open("simple")
for i in range(64):
    first.write(i * MIB, b"%04d" % i * (MIB // 4))
N = 200
peers = []
for i in range(N):
    p = Peer.open("simple", uri=tcp_uri if i % 2 else None)
    p.s.setblocking(False)
    peers.append(p)
poll = select.epoll()
for p in peers:
    poll.register(p.s.fileno(), select.EPOLLIN)
by_fd = {p.s.fileno(): p for p in peers}
request = [Peer.header(first, READ, random.randrange(16000) * 4096, 4096)
           for i in range(1000)]
for p in peers:
    p.got, p.n = 0, 0
    p.s.send(request[0])
def turn(seconds):
    """Replies in a second: each of the 200 has one request in flight."""
    count, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        for fd, what in poll.poll(1):
            p = by_fd[fd]
            p.got += len(p.s.recv(65536))
            assert p.got <= 16 + 4096
            if p.got == 16 + 4096:
                p.got = 0
                p.n += 1
                count += 1
                p.s.send(request[count % 1000])
    return count / seconds
turn(.5)
memory = fields(pid, "RssAnon")
lazy = []
def begin():
    for i in range(50):
        # Whole pieces of the disk; the receive buffer holds little of them.
        q = Peer.open(KINDS[i % 3], uri=tcp_uri if i % 2 else None)
        q.s.setblocking(False)
        for k in range(3000):
            try:
                q.s.send(q.header(READ, k % 63 * MIB, MIB, 0, k))
            except BlockingIOError:
                break
        lazy.append(q)
def end():
    for q in lazy:
        q.close()
    lazy.clear()
    time.sleep(.3)
alone, beside = [], []
for round in range(5):
    alone.append(turn(seconds / 2))
    begin()
    beside.append(turn(seconds))
    grown = fields(pid, "RssAnon") - memory
    end()
    alone.append(turn(seconds / 2))
    print("%.0f alone, %.0f beside those who do not read; %d KiB more"
          % (alone[-1], beside[-1], grown // 1024))
    assert slow or grown < 16 * MIB, grown
median = lambda l: sorted(l)[len(l) // 2]
best = max(b / a for a, b in zip((x + y for x, y in zip(alone[::2], alone[1::2])),
                                 (2 * b for b in beside)))
print("median %.2f, best %.2f of the rate" % (median(beside) / median(alone),
                                              best))
# Machines differ from second to second: the best of the rounds counts too.
assert slow or max(best, median(beside) / median(alone)) >= .9
# Nobody has starved.
assert min(p.n for p in peers) > 0
END
