#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Names that no export can have.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

long=$(printf '%0255d' 0)
wrong 2 'has 1 to 255 bytes' -e "${long}0,size=1M"
wrong 2 'has 1 to 255 bytes' -e ''
wrong 2 'has 1 to 255 bytes' -e ',size=1M'
wrong 2 'no ; in names' -e 'a;b,size=1M'
wrong 2 'no ; in names' -e ';,size=1M'
wrong 2 'no ; in names' -e 'a;s=00112233-4455-6677-8899-aabbccddeeff.1,size=1M'

# The longest name, and bytes that are not ASCII, are fine.
start_nbdramd -m 64M -e "$long,size=1M" -e 'größe,size=2M' -e ' ,size=3M'
peer "$long" <<'END' || fail "names"
with Peer().hello() as p:
    assert [n for n, text in p.list()] == [args[0], "gr\u00f6\u00dfe", " "]
for name, size in ((args[0], 1), ("gr\u00f6\u00dfe", 2), (" ", 3)):
    assert Peer.open(name=name).size == size * MIB
refused("ERR_UNKNOWN", Peer.open, name=args[0] + "0")
refused("ERR_UNKNOWN", Peer.open, name=args[0][1:])
END
