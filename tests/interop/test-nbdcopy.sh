#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdcopy: in, out, and from one export to another; holes stay holes.
. ./functions.sh
. "$abs_top_srcdir/tests/interop/each-server.sh"
requires_command nbdcopy nbdinfo

# A file with data, holes, zeroes that are no holes, and an odd end.
size=$((64 * 1024 * 1024 + 12345))
truncate -s "$size" "$tmp/in"
for at in 0 5 17 40; do
	head -c $((3 * 1024 * 1024 + at)) /dev/urandom |
		dd of="$tmp/in" bs=64K seek=$((at * 16)) conv=notrunc status=none
done
head -c 4M /dev/zero |
	dd of="$tmp/in" bs=1M seek=30 conv=notrunc status=none
tail -c 100 "$tmp/in" >/dev/null
printf 'the end' |
	dd of="$tmp/in" bs=1 seek=$((size - 7)) conv=notrunc status=none

start_server "$size" memory=256M
first=$uri
nbdcopy "$tmp/in" "$first" || fail "in"
nbdcopy "$first" "$tmp/out" || fail "out"
cmp "$tmp/in" "$tmp/out" || fail "what came out is not what went in"

start_server "$size" memory=256M
second=$uri
nbdcopy "$first" "$second" || fail "between two exports"
nbdcopy --synchronous "$second" "$tmp/out2" || fail "out, synchronous"
cmp "$tmp/in" "$tmp/out2" || fail "between two exports: differs"
nbdinfo --map "$first" >"$tmp/map1"
nbdinfo --map "$second" >"$tmp/map2"
cmp "$tmp/map1" "$tmp/map2" || fail "the maps differ"
grep -q hole "$tmp/map2" || fail "no hole is left"

# Onto old data: what is a hole in the source must read as zeroes.
client <<'END'
for i in range(64):
    h.pwrite(b"\xff" * 2**20, i * 2**20)
END
for how in "" --allocated --connections=1 --requests=1; do
	# shellcheck disable=SC2086
	nbdcopy $how "$first" "$second" || fail "over old data $how"
	# shellcheck disable=SC2086
	nbdcopy $how "$second" "$tmp/out3" || fail "out $how"
	cmp "$tmp/in" "$tmp/out3" || fail "over old data $how: differs"
done
nbdcopy --destination-is-zero "$first" "$second" || fail "destination-is-zero"
nbdcopy "$second" - | cmp - "$tmp/in" || fail "through a pipe"
