#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# EXTENDED_HEADERS: what it replaces and what it shuts out.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
if nbdkit("extended-headers"):
    with Peer().hello() as p:
        refused("ERR_UNSUP", p.extended)
        p.structured()
        p.go()
    raise SystemExit

with Peer().hello() as p:
    p.option(OPT_EXTENDED_HEADERS, b"data")
    refused("ERR_INVALID", p.answers, OPT_EXTENDED_HEADERS, None)
    p.structured()
    p.extended()
    p.extended()
    refused("ERR_EXT_HEADER_REQD", p.structured)
    p.kind = "extended"
    p.meta("base:allocation")
    p.go()
    assert p.flags & F_STATUS_PAYLOAD
    p.write(0, b"x" * 4096)
    assert p.read(0, 4096) == b"x" * 4096
    # A compact header is no longer one.
    p.send(struct.pack(">IHHQQI", REQUEST, 0, READ, 1, 0, 512) + bytes(4))
    p.closed()
with Peer().hello() as p:
    p.extended()
    p.option(OPT_EXPORT_NAME, b"")
    p.closed()
with Peer.open("extended", contexts=()) as p:
    assert not p.flags & F_STATUS_PAYLOAD
# And the other way: a long header where short ones were agreed.
for kind in ("simple", "structured"):
    with Peer.open(kind) as p:
        p.send(struct.pack(">IHHQQQ", EXTENDED_REQUEST, 0, READ, 1, 0, 512))
        p.closed()
END
