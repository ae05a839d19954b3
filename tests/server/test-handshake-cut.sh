#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients that go away anywhere in the handshake, in each of the ways there are:
# nobody notices, nothing stays, and no signal ends the server.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
sent = struct.pack(">I", 3)
for number, data in ((OPT_LIST, b""), (OPT_STRUCTURED_REPLY, b""),
                     (OPT_INFO, Peer.info_data("", (0, 1, 2, 3))),
                     (OPT_GO, Peer.info_data("", (3,)))):
    sent += struct.pack(">QII", OPTION, number, len(data)) + data
sent += struct.pack(">IHHQQI", REQUEST, 0, READ, 1, 0, 65536)

other = Peer.open("simple")
other.write(0, b"other" * 1000)
before = descriptors(pid)
for i in range(0, len(sent) + 1, 1 if scale >= 1 else 3):
    for how in ("close", "reset", "half"):
        p = Peer()
        p.send(sent[:i])
        if how == "half":
            # It listens still, and must be let go.
            p.s.shutdown(socket.SHUT_WR)
            try:
                while p.s.recv(65536):
                    pass
            except ConnectionResetError:
                pass
        if how == "reset":
            p.reset()
        else:
            p.close()
    assert other.read(0, 5000) == b"other" * 1000
assert eventually(10, lambda: descriptors(pid) <= before), descriptors(pid)
END
