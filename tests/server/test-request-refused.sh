#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Requests that cannot be: each gets the error that the protocol names, once, and
# the next request is understood.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
SIZE = 16 * MIB
for kind in KINDS:
    if kind == "extended" and nbdkit("extended-headers"):
        continue
    p = Peer.open(kind)
    p.write(SIZE - 4096, b"end!" * 1024)

    def no(name, command, offset, length, flags=0, payload=b""):
        try:
            refused(name, p.do, command, offset, length, flags, payload)
        except WireError as e:
            raise WireError("%s: %s" % ((kind, command, offset, length, flags),
                                        e))
        assert p.read(SIZE - 4, 4) == b"end!"

    # Nothing is asked for.
    for command in (READ, TRIM, WRITE_ZEROES, WRITE):
        for offset in (0, SIZE - 1):
            no("ENOSPC" if nbdkit("length-0") and
               command in (WRITE, WRITE_ZEROES) else "EINVAL",
               command, offset, 0)
    # Beyond the end, by one, by all, and wrapped around.
    FAR = (SIZE, SIZE + 4096, 2**63 - 1, 2**63, 2**64 - 4096, 2**64 - 1)
    for offset in (SIZE - 4095,) + FAR:
        for command in (READ, TRIM, CACHE):
            no("EINVAL", command, offset, 4096)
        no("ENOSPC", WRITE_ZEROES, offset, 4096)
        no("ENOSPC", WRITE, offset, 4096, 0, b"w" * 4096)
        if kind != "simple":
            no("EINVAL", BLOCK_STATUS, offset, 4096)
    no("EINVAL", READ, 0, SIZE + 1)
    no("EINVAL", TRIM, 0, SIZE + 1)
    no("ENOSPC", WRITE_ZEROES, 1, SIZE)
    for n in (64 * MIB + 1, 2**31 - 1, 2**31, 2**32 - 1):
        no(("EINVAL", "EOVERFLOW"), READ, 0, n)
    if kind == "extended":
        for n in (2**32, 2**63, 2**64 - 1):
            no("EINVAL", TRIM, 0, n)
            no("ENOSPC", WRITE_ZEROES, 1, n)
            no("EINVAL", BLOCK_STATUS, 0, n)
            no("EINVAL", READ, 0, n)
    # Commands that there are not.
    for command in (RESIZE, 9, 77, 65535):
        no("EINVAL", command, 0, 4096)
    # Flags that do not belong to the command, or to nothing.
    for flag in (DF, REQ_ONE, 1 << 6, 1 << 15):
        no("EINVAL", WRITE_ZEROES, 0, 4096, flag)
        no("EINVAL", TRIM, 0, 4096, flag)
        if flag != DF or kind == "simple":
            no("EINVAL", READ, 0, 4096, flag)
        no("EINVAL", WRITE, 0, 4096, flag, b"w" * 4096)
    for flag in (NO_HOLE, FAST_ZERO):
        no("EINVAL", READ, 0, 4096, flag)
        no("EINVAL", TRIM, 0, 4096, flag)
        no("EINVAL", WRITE, 0, 4096, flag, b"w" * 4096)
        no("EINVAL", FLUSH, 0, 0, flag)
    if kind != "extended":
        no("EINVAL", READ, 0, 4096, PAYLOAD_LEN)
    # Without a context, and where there can be none.
    other = Peer.open(kind, contexts=())
    refused("EINVAL", other.do, BLOCK_STATUS, 0, 4096)
    assert other.read(SIZE - 4, 4) == b"end!"
    other.close()
    # FUA goes with all that was offered.
    for command in (READ, TRIM, WRITE_ZEROES):
        p.do(command, 4096, 4096, FUA)
    p.do(WRITE, 4096, 4096, FUA, b"w" * 4096)
    p.flush(FUA)
    # Nothing of what was refused has had an effect.
    assert p.read(0, 4096) == bytes(4096)
    assert p.read(SIZE - 4096, 4096) == b"end!" * 1024
    p.close()
END
