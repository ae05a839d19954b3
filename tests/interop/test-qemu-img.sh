#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# qemu-img: info, map, convert in and out, compare, and a qcow2 image that lies
# on the disk.
. ./functions.sh
. "$abs_top_srcdir/tests/interop/each-server.sh"
requires_command qemu-img qemu-io jq

truncate -s 64M "$tmp/in"
for at in 0 7 33; do
	head -c 3M /dev/urandom |
		dd of="$tmp/in" bs=1M seek="$at" conv=notrunc status=none
done

start_server 64M memory=256M
qemu-img info --output=json "$uri" >"$tmp/info" || fail "info"
jq -e '.["virtual-size"] == 67108864 and .format == "raw"' "$tmp/info" ||
	fail "info: $(cat "$tmp/info")"

for how in "" "-W -m 16" "-S 0" "-t none -T none"; do
	# shellcheck disable=SC2086
	qemu-img convert $how -n -f raw -O raw "$tmp/in" "$uri" ||
		fail "convert in $how"
	qemu-img compare -f raw -F raw "$tmp/in" "$uri" ||
		fail "compare after convert $how"
done
qemu-img convert -n -f raw -O raw --target-is-zero "$tmp/in" "$uri" ||
	fail "convert to a target that is zero"

client <<'END'
h.trim(2**26, 0)
END
qemu-img convert -n -f raw -O raw "$tmp/in" "$uri" || fail "convert in"
qemu-img map --output=json -f raw "$uri" >"$tmp/map" || fail "map"
jq -e '[.[] | select(.data) | .length] | add == 9437184' "$tmp/map" ||
	fail "map: $(cat "$tmp/map")"
jq -e '[.[] | select(.data | not) | .zero] | all' "$tmp/map" ||
	fail "map: holes that are not zero"

qemu-img convert -f raw -O qcow2 "$uri" "$tmp/out.qcow2" || fail "convert out"
qemu-img compare -s -f raw -F qcow2 "$tmp/in" "$tmp/out.qcow2" &&
	: # strict: allocation too, which a file system may round
qemu-img compare -f raw -F qcow2 "$tmp/in" "$tmp/out.qcow2" ||
	fail "what came out is not what went in"
printf 'other' | dd of="$tmp/in" bs=1 seek=5000000 conv=notrunc status=none
qemu-img compare -f raw -F raw "$tmp/in" "$uri" && fail "compare sees nothing"

# A format with tables of its own on the raw disk.
qemu-img create -q -f qcow2 "$uri" 32M || fail "create qcow2"
qemu-io -f qcow2 -c 'write -P 0x5a 1M 8M' -c 'discard 3M 2M' \
	-c 'write -z 7M 64K' -c 'read -P 0x5a 1M 2M' -c 'read -P 0 3M 2M' \
	-c 'read -P 0 7M 64K' -c flush "$uri" >"$tmp/io" || fail "qcow2"
grep -q 'verification failed' "$tmp/io" && fail "qcow2: $(cat "$tmp/io")"
qemu-img check -f qcow2 "$uri" || fail "qcow2: check"
exit 0
