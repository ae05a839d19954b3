#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A client that does not wait for answers but sends its whole conversation at
# once, in one piece, byte by byte, and cut in two at every place.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

size=1M tls=no everywhere <<'END'
def conversation(kind):
    """What is sent, and a function that takes the answers."""
    class Recorder(Peer):
        def __init__(self):
            self.sent = b""
        def send(self, data):
            self.sent += data
    r = Recorder()
    r.sent = struct.pack(">I", 3)
    r.option(OPT_LIST)
    if kind != "simple":
        r.option(OPT_STRUCTURED_REPLY if kind == "structured"
                 else OPT_EXTENDED_HEADERS)
        r.option(OPT_SET_META_CONTEXT, string("") + struct.pack(">I", 1) +
                 string("base:allocation"))
    r.option(OPT_INFO, Peer.info_data("", (0, 1, 2, 3)))
    r.option(OPT_GO, Peer.info_data("", (3,)))
    r.kind, r.pending, r.next_cookie = kind, {}, 7
    r.request(WRITE, 1000, payload=b"payload" * 100)
    r.request(FLUSH)
    r.request(READ, 1000, 700)
    r.request(TRIM, 1000, 700)
    r.request(READ, 1000, 700)
    if not nbdkit("disc"):
        r.disc()

    def take(p):
        p.greeting()
        p.answers(OPT_LIST, REP_SERVER)
        if kind != "simple":
            p.answers(OPT_STRUCTURED_REPLY if kind == "structured"
                      else OPT_EXTENDED_HEADERS, None)
            p.answers(OPT_SET_META_CONTEXT, REP_META_CONTEXT)
        p.kind = kind
        p.take_info(OPT_INFO)
        p.take_info(OPT_GO)
        p.pending = {c: list(l) for c, l in r.pending.items()}
        for l in p.pending.values():
            for i, old in enumerate(l):
                l[i] = new = old.__class__(old.command, old.offset, old.length,
                                           old.flags, old.cookie)
        done = p.drain()
        assert all(q.error == 0 for q in done), [q.error for q in done]
        reads = [bytes(q.data) for q in sorted(done, key=lambda q: q.cookie)
                 if q.command == READ]
        # A read that was not answered yet may see what was sent after it.
        assert all(r in (bytes(700), b"payload" * 100) for r in reads)
        if not nbdkit("parallel"):
            assert reads[1] == bytes(700)
        if not nbdkit("disc"):
            p.closed()
    return r.sent, take

for kind in KINDS:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    sent, take = conversation(kind)
    with Peer() as p:
        p.send(sent)
        take(p)
    with Peer() as p:
        for i in range(len(sent)):
            p.send(sent[i:i + 1])
        take(p)
    step = 1 if scale >= 1 else 7
    for i in range(random.randrange(1, step + 1), len(sent), step):
        with Peer() as p:
            p.send(sent[:i])
            # So that what comes next is surely another read.
            p.greeting()
            p.buf = struct.pack(">QQH", GREETING, OPTION, 3) + p.buf
            p.send(sent[i:])
            take(p)
END
