#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Bytes that are no handshake, from other protocols or from nowhere.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
other = Peer.open("simple")
before = descriptors(pid)
GARBAGE = [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01" * 50,
           b"SSH-2.0-OpenSSH_9.2\r\n", bytes(1000), b"\xff" * 1000,
           struct.pack(">I", 3) + bytes(100),
           struct.pack(">IQ", 3, REQUEST) + bytes(100),
           struct.pack(">IQII", 3, OPTION + 1, OPT_LIST, 0)]
GARBAGE += [random.randbytes(random.randrange(1, 3000))
            for i in range(int(400 * scale) or 1)]
GARBAGE += [struct.pack(">IQ", 3, OPTION) +
            random.randbytes(random.randrange(1, 3000))
            for i in range(int(400 * scale) or 1)]
for garbage in GARBAGE:
    with Peer() as p:
        try:
            p.send(garbage)
            p.s.shutdown(socket.SHUT_WR)
            while p.s.recv(65536):
                pass
        except OSError:
            pass
    assert other.size == 16 * MIB
    other.flush()
assert eventually(10, lambda: descriptors(pid) <= before), descriptors(pid)
END
