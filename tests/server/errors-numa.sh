#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A node that is not there, and what is none; interleaving over one is fine.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 'numa = all: any, interleave or a node' -o numa=all 1M
wrong 2 'numa = -1' -o numa=-1 1M
[ -e /sys/devices/system/node/has_memory ] || skip "this kernel has no nodes"
new_pool
wrong 1 'numa=1000: there is no such node with memory; there are: [0-9]' \
	-l "unix:$tmp/s" -o numa=1000 -m 64M -p "$pool" 1M
[ ! -e "$pool" ] || fail "a folder was left behind"
for node in interleave 0 any; do
	start_nbdramd -o "numa=$node" -m 64M 16M
	peer <<'END' || fail "numa = $node"
p = Peer.open()
p.write(0, pattern(1, MIB))
assert p.read(0, MIB) == pattern(1, MIB)
END
	stop_nbdramd
done
