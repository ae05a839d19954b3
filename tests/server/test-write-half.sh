#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Half a WRITE never takes effect: a client is cut in a 1 MiB write, in every way
# and at many places, while another writes and reads the same range; what is
# there is always one whole write of the other's.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 256M 64M
peer "$(scaled 1500 60)" <<'END' || fail "half a write"
rounds = int(args[0])
HALF = bytes([255]) * MIB
other = Peer.open("simple")
value = 1
other.write(0, bytes([value]) * MIB)
before = descriptors(pid)
for round in range(rounds):
    tcp = round % 3 != 0
    p = Peer.open(random.choice(KINDS), uri=tcp_uri if tcp else None)
    message = p.prepare(WRITE, 0, payload=HALF)
    # The edges, and places all over.
    cut = random.choice((len(message) - 1, len(message) - 4096, 28, 29, 32, 33,
                         27, 4096 + 28, 65536, 262144,
                         random.randrange(1, len(message)),
                         round * len(message) // rounds))
    if random.random() < .5:
        # In front of it, something whole that must be done.
        p.send(p.prepare(WRITE, 2 * MIB + round % 1000 * 512,
                         payload=struct.pack(">I", round) * 128))
        assert p.answer().error == 0
    p.send(message[:cut])
    if random.random() < .5:
        # The other one's write comes between the halves.
        value = value % 250 + 1
        other.write(0, bytes([value]) * MIB)
    else:
        assert other.read(0, MIB) == bytes([value]) * MIB
    how = random.choice(("close", "reset", "half", "garbage"))
    if how == "reset":
        p.reset()
    elif how == "half":
        p.s.shutdown(socket.SHUT_WR)
        try:
            assert not p.s.recv(1)
        except ConnectionResetError:
            pass
        p.close()
    else:
        p.close()
    assert other.read(0, MIB) == bytes([value]) * MIB, (cut, how)
assert eventually(10, lambda: descriptors(pid) <= before), descriptors(pid)
# Nothing that was set aside for them is kept: all of the disk can be written.
for i in range(64):
    other.write(i * MIB, bytes([i]) * MIB)
for i in range(64):
    assert other.read(i * MIB, MIB) == bytes([i]) * MIB
print("%d rounds" % rounds)
END
