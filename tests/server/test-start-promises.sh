#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# alloc, quota and guarantee of a disk that the pool holds already: it is given
# what is asked for, or that is an error; what it has otherwise is told.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
start_nbdramd -p "$pool" -m 64M -e a,size=16M
stop_nbdramd
wrong 1 'export "a": alloc = fixed .* its quota is smaller' -p "$pool" -m 64M \
	-l "unix:$tmp/s" -e a,alloc=fixed,quota=1M
wrong 1 'export a: the pool has not got the memory' -p "$pool" -m 64M \
	-l "unix:$tmp/s" -e a,guarantee=1G
start_nbdramd -p "$pool" -m 64M -e a,guarantee=2M,quota=4M
peer <<'END' || fail "guarantee and quota"
d = ask("show", name="a")["disk"]
assert d["guarantee"] == 2 * MIB and d["quota"] == 4 * MIB, d
END
! grep -q stays "$log" || fail "what was asked for stays"
stop_nbdramd
wrong 1 'export "a": its guarantee is larger' -p "$pool" -m 64M \
	-l "unix:$tmp/s" -e a,quota=1M
start_nbdramd -p "$pool" -m 64M -e a,alloc=fixed,quota=32M
grep -q stays "$log" && fail "what was asked for stays"
stop_nbdramd
start_nbdramd -p "$pool" -m 64M -e a
grep -q 'a: alloc = fixed stays' "$log" || fail "no word of alloc"
grep -q 'a: quota = 33554432 stays' "$log" || fail "no word of quota"
stop_nbdramd
start_nbdramd -p "$pool" -m 64M -e a,alloc=thin
peer <<'END' || fail "thin"
d = ask("show", name="a")["disk"]
assert d["alloc"] == "thin" and "guarantee" not in d, d
END
