#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What show --config writes can be read again: also where disks are clones of what no
# file can make, a snapshot or a template's disk.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cat >"$tmp/conf" <<END
[pool]
size = 64M
[export gold]
size = 1M
[template host-*]
size = 1M
END
start_nbdramd -c "$tmp/conf"
peer <<'END' || fail "a template's disk"
Peer.open(name="host-17").disc()
END
ctl create made size=2M || fail "create"
ctl clone made copy || fail "clone"
ctl snapshot made made@1 || fail "snapshot"
ctl create fromsnap clone=made@1 || fail "clone of a snapshot"
ctl clone host-17 mine || fail "clone of a template's disk"
ctl show --config >"$tmp/again" || fail "show --config"
cat "$tmp/again"
"$nbdramd" -t -c "$tmp/again" -o size=64M -s "$tmp/c" >"$tmp/said" 2>&1 ||
	fail "it cannot be read again: $(cat "$tmp/said")"
grep -qx 'clone = made' "$tmp/again" || fail "whose clone copy is"
grep -q '^clone = \(made@1\|host-17\)$' "$tmp/again" &&
	fail "a clone of what no file makes"
grep -qx '\[export fromsnap\]' "$tmp/again" || fail "fromsnap is left out"
[ "$(grep -c '^# a copy of what no file can make' "$tmp/again")" = 2 ] ||
	fail "nothing says that fromsnap and mine begin empty"
