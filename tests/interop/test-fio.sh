#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fio's nbd engine with verification: 4 jobs, each in its own part; mixed sizes
# and odd ones, trims between.
. ./functions.sh
. "$abs_top_srcdir/tests/interop/each-server.sh"
requires_command fio
fio --enghelp 2>/dev/null | grep -qw nbd || skip "fio has no nbd engine"

size=$(scaled 512 64)
start_server "$((size * 4))M" memory=$((size * 6))M

# job NAME OPTION...
job()
{
	local name=$1
	shift
	(cd "$tmp" && fio --name="$name" --ioengine=nbd --uri="$uri" \
		--randseed="$NBDRAM_TEST_SEED" --numjobs=4 --size="${size}M" \
		--offset_increment="${size}M" --verify=crc32c \
		--verify_fatal=1 --verify_dump=0 --group_reporting \
		--minimal "$@") >"$tmp/out" 2>&1 ||
		fail "$name: $(cat "$tmp/out")"
	echo "$name: done"
}

job write-4k --rw=randwrite --bs=4k --iodepth=16
job write-mixed --rw=randwrite --bsrange=512-256k --blockalign=512 \
	--iodepth=16 --norandommap --verify=0
# Whole blocks only, else one job's last one lies in the next one's part.
job write-odd --rw=write --bs=9k --iodepth=8 \
	--size=$((size * 1024 / 9 * 9))k
job write-large --rw=write --bs=4M --iodepth=4
job rw-4k --rw=randrw --bs=4k --iodepth=32
job trim --rw=trim --bs=1M --iodepth=4 --verify=0
client <<'END' || fail "trim: something is left"
assert extents(0, h.get_size()) == [[0, h.get_size(), "hole"]]
END
job rw-after-trim --rw=randrw --bs=16k --iodepth=8
