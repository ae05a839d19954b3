#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# After a refused GO the next option is understood: exactly one error each.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

tls=no everywhere <<'END'
with Peer().hello() as p:
    for name in ("none", "x" * 255, "\u00e9\u00e8", "a/b", "none"):
        for option in (OPT_GO, OPT_INFO):
            if nbdkit("any-name"):
                continue
            refused("ERR_UNKNOWN", p.go, name, option=option)
    assert len(p.list()) == 1
    if not nbdkit("any-name"):
        for i in range(3):
            refused("ERR_UNKNOWN", p.go, "none")
    if not nbdkit("list-twice"):
        assert len(p.list()) == 1
    # Options that there are not, and one that was never specified.
    for option in (OPT_PEEK, 12, 77, 2**31, 2**32 - 1):
        p.option(option, b"something")
        refused("ERR_UNSUP", p.answers, option, None)
    p.option(OPT_STARTTLS)
    refused(("ERR_POLICY", "ERR_UNSUP"), p.answers, OPT_STARTTLS, None)
    p.option(OPT_STRUCTURED_REPLY, b"data")
    refused("ERR_INVALID", p.answers, OPT_STRUCTURED_REPLY, None)
    p.option(OPT_LIST, b"data")
    refused("ERR_INVALID", p.answers, OPT_LIST, None)
    p.ask_info()
    p.go()
    p.write(0, b"good")
    assert p.read(0, 4) == b"good"

# EXPORT_NAME of what there is not: nothing but the end.
if not nbdkit("any-name"):
    with Peer().hello() as p:
        p.option(OPT_EXPORT_NAME, b"none")
        p.closed()
END
