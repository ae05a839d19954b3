#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdinfo: what it says, lists and maps.
. ./functions.sh
. "$abs_top_srcdir/tests/interop/each-server.sh"
requires_command nbdinfo jq

start_server 8T memory=256M
client <<'END'
h.pwrite(b"x" * 10000, 3 * 2**40)
h.pwrite(b"y", 2**43 - 1)
END
nbdinfo "$uri" || fail "nbdinfo"
[ "$(nbdinfo --size "$uri")" = 8796093022208 ] || fail "--size"
for can in flush fua trim zero fast-zero multi-conn cache df structured; do
	nbdinfo --can "$can" "$uri" || fail "--can $can"
done
nbdinfo --is read-only "$uri" && fail "--is read-only"
nbdinfo --is rotational "$uri" && fail "--is rotational"

nbdinfo --json "$uri" >"$tmp/json" || fail "--json"
jq -e '.exports[0] |
	.["export-size"] == 8796093022208 and
	.block_size_minimum == 1 and
	.block_size_preferred == 4096 and
	.block_size_maximum == 67108864 and
	(.contexts | index("base:allocation") != null) and
	(.description | test("uuid=.* gen="))' "$tmp/json" ||
	fail "--json has something else: $(cat "$tmp/json")"
nbdinfo --list --json "$uri" | jq -e '.exports | length == 1' ||
	fail "--list"

nbdinfo --map "$uri" | awk '{ print $1, $2, $3, $4 }' >"$tmp/map"
cat "$tmp/map"
cmp "$tmp/map" - <<'END' || fail "--map"
0 3298534883328 3 hole,zero
3298534883328 12288 0 data
3298534895616 5497558122496 3 hole,zero
8796093018112 4096 0 data
END
nbdinfo --map --totals "$uri" | grep -Eq '^ *16384 +0\.0% +0 data' ||
	fail "--map --totals"
