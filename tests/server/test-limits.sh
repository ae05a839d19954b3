#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# max-connections and max-per-address: who is one too many is turned away at
# once and nobody else is; a place is free the moment a client leaves, however it
# does.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M -o max-connections=5 1M
peer "$(scaled 500 100)" <<'END' || fail "max-connections"
peers = [Peer.open(uri=tcp_uri if i % 2 else None) for i in range(5)]
def turned_away(u):
    try:
        return Peer(u).closed()
    except (ConnectionResetError, BrokenPipeError):
        return True
for round in range(int(args[0])):
    if round % 10 == 0:
        assert turned_away(uri) and turned_away(tcp_uri)
    p = peers.pop(0)
    if round % 3 == 0:
        p.disc()
        p.closed()
        p.close()
    elif round % 3 == 1:
        p.reset()
    else:
        p.send(p.prepare(WRITE, 0, payload=bytes(MIB))[:100000])
        p.close()
    def again():
        try:
            peers.append(Peer.open(uri=tcp_uri if round % 2 else None))
            return True
        except (Closed, ConnectionResetError, BrokenPipeError):
            return False
    # The end is noticed a moment later.
    assert eventually(5, again)
for p in peers:
    p.write(0, b"all here")
END
stop_nbdramd

start_nbdramd --both -m 64M -o max-per-address=3 1M
peer <<'END' || fail "max-per-address"
def open_from(address):
    s = socket.socket()
    s.bind((address, 0))
    s.connect(("127.0.0.1", int(tcp_uri.rsplit(":")[-1])))
    s.settimeout(20)
    try:
        return s if s.recv(16) else None
    except ConnectionResetError:
        return None
mine = [open_from("127.0.0.1") for i in range(3)]
assert all(mine)
assert open_from("127.0.0.1") is None
others = [open_from("127.0.0.%d" % i) for i in range(2, 30)]
assert all(others)
assert open_from("127.0.0.1") is None
mine.pop().close()
assert eventually(5, lambda: open_from("127.0.0.1"))
END
stop_nbdramd

# Whoever has seen the end of its connection may come back at once.
start_nbdramd --tcp -m 64M -o max-connections=1 -o max-per-address=1 1M
peer "$(scaled 2000 300)" <<'END' || fail "coming back at once"
for round in range(int(args[0])):
    p = Peer.open()
    p.disc()
    p.closed()
END
