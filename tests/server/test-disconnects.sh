#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Connections that end in each of the ways there are, thousands of them: the
# server has as many descriptors, threads and as much memory as before.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 16M
peer "$(scaled 5000 100)" <<'END' || fail "disconnects"
n = int(args[0])
def nothing(p): p.close()
def flags(p): p.hello().close()
def aborted(p): p.hello().abort()
def abort_unheard(p):
    p.hello().option(OPT_ABORT)
    p.reset()
def half_option(p):
    p.hello()
    p.option(OPT_GO, b"\0\0", 100)
    p.close()
def hung_up(p):
    p.hello().option(OPT_EXPORT_NAME, b"there is none")
    p.closed()
def bad_flags(p):
    p.hello(0xff00).closed()
def disc(p):
    p.hello().go()
    p.disc()
    p.closed()
def closed(p): p.hello().go().close()
def reset(p): p.hello().go().reset()
def half_header(p):
    p.hello().go()
    p.send(b"\x25\x60\x95\x13\0\0")
    p.reset()
def half_write(p):
    p.hello().go()
    p.send(p.header(WRITE, 0, 500000) + bytes(200000))
    p.close()
def unread(p):
    p.hello().go()
    p.send(p.header(READ, 0, 4 * MIB) * 10)
    p.reset()
def no_magic(p):
    p.hello().go()
    p.send(b"no magic" * 10)
    p.closed()
def busy(p):
    p.hello().go()
    p.send(p.header(TRIM, 0, 16 * MIB) * 30)
    p.close()
def list_unread(p):
    p.hello()
    p.send(struct.pack(">QII", OPTION, OPT_LIST, 0) * 100)
    p.reset()
KINDS_OF_ENDING = (nothing, flags, aborted, abort_unheard, half_option, hung_up,
                   bad_flags, disc, closed, reset, half_header, half_write, unread,
                   no_magic, busy, list_unread)
def some(n):
    for i in range(n):
        for end in KINDS_OF_ENDING:
            end(Peer(tcp_uri if i % 2 else None))
def calm():
    now = fields(pid, "Threads"), descriptors(pid)
    return now == before
some(20)
before = None
time.sleep(.2)
before = fields(pid, "Threads"), descriptors(pid)
def settled():
    global before
    last, before = before, (fields(pid, "Threads"), descriptors(pid))
    time.sleep(.05)
    return last == before
eventually(10, settled)
# What is lost is lost each time; what a heap keeps for later comes once.
for attempt in range(3):
    memory = fields(pid, "RssAnon")
    some(n)
    assert eventually(10, calm), (before, fields(pid, "Threads"), descriptors(pid))
    grown = fields(pid, "RssAnon") - memory
    print("%d of %d kinds: %d KiB more" % (n, len(KINDS_OF_ENDING), grown // 1024))
    if slow or grown < 2 * MIB:
        break
else:
    raise AssertionError(grown)
END
