#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A smaller size for a disk that has data behind it.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
start_nbdramd -p "$pool" -m 64M -e a,size=8M -e b,size=8M
peer <<'END'
Peer.open(name="a").write(8 * MIB - 1, b"x")
END
stop_nbdramd
wrong 1 'export a: .*8388608 bytes.*4194304' -l "unix:$tmp/s" -p "$pool" \
	-m 64M -e a,size=4M -e b
start_nbdramd -p "$pool" -m 64M -e a -e b,size=4M
peer <<'END' || fail "after shrinking"
a, b = Peer.open(name="a"), Peer.open(name="b")
assert a.size == 8 * MIB and a.read(8 * MIB - 1, 1) == b"x"
assert b.size == 4 * MIB
END
