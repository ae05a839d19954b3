#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# LIST and SET_META_CONTEXT: which contexts there are, what selects them, what
# makes a selection void.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
BASE, DEPTH = "base:allocation", "qemu:allocation-depth"
ALL = {BASE} if nbdkit("qemu-contexts") else {BASE, DEPTH}

with Peer().hello() as p:
    # Not before structured replies.
    refused("ERR_INVALID", p.meta, BASE)
    p.structured()
    ask = lambda *q, **more: set(p.meta(*q, option=OPT_LIST_META_CONTEXT,
                                        **more))
    assert ask() == ALL
    assert ask("base:") == {BASE}
    assert ask(BASE) == {BASE}
    assert ask("qemu:") == ALL - {BASE}
    assert ask("base:nothing", "other:", "x-y:z") == set()
    if not nbdkit("asked-twice"):
        assert ask("base:", BASE, "base:") == {BASE}
    # Selecting: wildcards and none select none.
    assert not p.meta() and not p.meta("base:") and not p.meta("qemu:")
    assert set(p.meta(BASE)) == {BASE}
    if not nbdkit("asked-twice"):
        assert set(p.meta(BASE, BASE)) == {BASE}
    assert set(p.meta(BASE, DEPTH, "base:other")) == ALL
    p.go()
    p.write(0, b"x" * 4096)
    assert p.status(0, 8192) == [(4096, 0), (4096, 3)]
    if DEPTH in ALL:
        assert p.status(0, 8192, context=DEPTH) == [(4096, 1), (4096, 0)]

# The last SET counts, even if it fails.
def selected(*sets):
    p = Peer().hello()
    p.structured()
    for queries in sets:
        if queries is None:
            p.option(OPT_SET_META_CONTEXT, b"\0\0\0\0\0\0\0\x01")
            refused("ERR_INVALID", p.answers, OPT_SET_META_CONTEXT, None)
        else:
            p.meta(*queries)
    p.go()
    try:
        p.status(0, 4096)
        return True
    except (Refused, KeyError):
        return False
    finally:
        p.close()

assert selected([BASE])
assert selected([], [BASE])
assert not selected([BASE], [])
assert not selected([BASE], None)
assert not selected()

if server != "nbdkit":
    # Of an export that there is not; of one and then opening another.
    with Peer().hello() as p:
        p.structured()
        refused("ERR_UNKNOWN", p.meta, BASE, name="none")
        refused("ERR_UNKNOWN", p.meta, BASE, name="none",
                option=OPT_LIST_META_CONTEXT)
        p.meta(BASE, name="default")
        p.go("")
        refused("EINVAL", p.do, BLOCK_STATUS, 0, 4096)
END
