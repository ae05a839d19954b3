#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What INFO and GO tell, with every selection of what may be asked for; INFO
# changes nothing and can be repeated.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
for kind in KINDS:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    p = Peer().hello().negotiate(kind)
    for bits in range(16):
        asked = [i for i in range(4) if bits >> i & 1]
        # Asked for twice, and things that there are not: both are harmless.
        again = [] if nbdkit("asked-twice") else asked
        p.ask_info("", asked + again + [77, 65535])
        assert p.size == 16 * MIB
        if INFO_BLOCK_SIZE in asked:
            assert p.block == (1, 4096, 64 * MIB), p.block
        assert set(p.info) == set(asked) | {INFO_EXPORT}, p.info
        want = F_HAS_FLAGS | F_FLUSH | F_FUA | F_TRIM | F_WRITE_ZEROES | \
            F_MULTI_CONN | F_CACHE | F_FAST_ZERO
        if kind != "simple":
            want |= F_DF
        assert p.flags == want, (kind, hex(p.flags), hex(want))
        if INFO_DESCRIPTION in asked:
            assert re.fullmatch(rb"RAM disk \[uuid=[0-9a-f-]{36} gen=\d+\]",
                                p.info[INFO_DESCRIPTION])
        if INFO_NAME in asked and server != "nbdkit":
            assert p.info[INFO_NAME] == b"default"
    told = p.info
    p.go("", (0, 1, 2, 3))
    assert p.info == told
    p.close()
if server != "nbdkit":
    # By its own name too, but by nothing else.
    for name in ("default", ""):
        Peer.open(name=name).disc()
    for name in ("Default", "default ", " ", "/", "defaul", "default\n"):
        refused("ERR_UNKNOWN", Peer.open, name=name)
END
