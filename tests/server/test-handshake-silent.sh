#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 500 sockets that never say a word: each is closed when its time is over, a real
# client gets in within that time and 2 s whatever the bound on unfinished
# handshakes, and SIGTERM with 500 of them ends the server in time.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M -o handshake-timeout=3s -o max-unfinished=100 1M
peer <<'END' || fail "silent clients"
started = time.monotonic()
silent = [Peer(tcp_uri if i % 2 else None) for i in range(500)]
for i, p in enumerate(silent):
    try:
        if i % 3:
            p.send(struct.pack(">I", 3))
        if i % 3 == 2:
            p.send(struct.pack(">QII", OPTION, OPT_GO, 100) + b"slow")
    except OSError:
        pass
for u in (uri, tcp_uri):
    one = time.monotonic()
    Peer.open(uri=u).write(0, b"in")
    print("in after %.3f s" % (time.monotonic() - one))
    assert time.monotonic() - one < 5
# Those that drip a byte now and then gain nothing.
drip = Peer()
dripped = time.monotonic()
try:
    while time.monotonic() < dripped + 10:
        drip.send(b"\0")
        time.sleep(.1)
except OSError:
    pass
took = time.monotonic() - dripped
print("dripping ended after %.1f s" % took)
assert took < 5
for p in silent:
    try:
        while p.s.recv(65536):
            pass
    except ConnectionResetError:
        pass
print("all were let go after %.1f s" % (time.monotonic() - started))
assert time.monotonic() - started < 15
END
stop_nbdramd

start_nbdramd --both -m 64M 1M
peer "$tmp/there" <<'END' &
silent = [Peer(tcp_uri if i % 2 else None) for i in range(500)]
for p in silent[::2]:
    p.hello()
open(args[0], "w").close()
for p in silent:
    try:
        while p.s.recv(65536):
            pass
    except ConnectionResetError:
        pass
END
client=$!
wait_for 60 test -e "$tmp/there" || fail "500 sockets are not there"
stop_nbdramd
wait "$client" || fail "the clients"
