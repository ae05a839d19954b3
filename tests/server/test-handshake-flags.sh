#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a client says first: old clients with no flags at all (nbd-client of the
# old style), every known combination, and flags that nobody has offered.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

tls=no everywhere <<'END'
# Flags 0: only EXPORT_NAME, and 124 zero bytes come.
with Peer().hello(0).export_name() as p:
    assert p.size == 16 * MIB
    p.write(4096, b"old client" * 100)
    assert p.read(4096, 10) == b"old client"
    p.disc()
    p.closed()

for flags in (0, C_FIXED_NEWSTYLE, C_NO_ZEROES,
              C_FIXED_NEWSTYLE | C_NO_ZEROES):
    with Peer().hello(flags) as p:
        p.export_name()
        # In step: what follows is understood at once.
        assert p.read(4096, 10) == b"old client", flags
        p.write(8192, b"x")
        p.flush()

# A server must not go on with a client that sets what it does not know.
for flags in (4, 0x80000000, 0xffffffff, C_FIXED_NEWSTYLE | 0x100):
    with Peer().hello(flags) as p:
        try:
            p.option(OPT_LIST)
        except OSError:
            pass
        p.closed()
END
