#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A header that is none ends the connection, for where the next one begins is
# unknown; others go on.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
other = Peer.open()
other.write(0, b"other" * 1000)
for kind in KINDS:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    for magic in (1, 0xffffffff, REQUEST + 1, SIMPLE_REPLY,
                  STRUCTURED_REPLY, EXTENDED_REPLY):
        with Peer.open(kind) as p:
            # What was asked for before is answered before the end.
            p.request(READ, 0, 5000)
            assert p.answer().data == b"other" * 1000
            try:
                p.send(p.header(READ, 0, 512, magic=magic) +
                       random.randbytes(random.randrange(2000)))
            except OSError:
                pass
            p.closed()
        assert other.read(0, 5) == b"other"
END
