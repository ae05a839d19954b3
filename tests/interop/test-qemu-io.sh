#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# qemu-io: patterns, odd offsets, zeroes with and without unmapping, discard,
# FUA, many requests at once.
. ./functions.sh
. "$abs_top_srcdir/tests/interop/each-server.sh"
requires_command qemu-io

start_server 128M memory=512M

# io COMMAND...: each read with a pattern must find it.
io()
{
	local args=() command
	for command in "$@"; do
		args+=(-c "$command")
	done
	qemu-io -f raw "${args[@]}" "$uri" >"$tmp/out" 2>&1 ||
		fail "qemu-io: $(cat "$tmp/out")"
	! grep -Eiq 'failed|error' "$tmp/out" ||
		fail "qemu-io: $(cat "$tmp/out")"
}

io 'write -P 0x11 0 1M' 'read -P 0x11 0 1M' 'read -P 0 1M 1M'
io 'write -P 0x22 4095 2' 'read -P 0x11 0 4095' 'read -P 0x22 4095 2' \
	'read -P 0x11 4097 4096'
io 'write -f -P 0x33 512 512' 'flush' 'read -P 0x33 512 512'
io 'write -z 64K 64K' 'read -P 0 64K 64K' 'read -P 0x11 128K 64K'
io 'write -z -u 128K 64K' 'read -P 0 128K 64K'
io 'write -z -u -n 192K 64K' 'read -P 0 192K 64K'
io 'discard 256K 256K' 'read -P 0 256K 256K' 'read -P 0x11 512K 64K'
io 'write -P 0x44 32M 32M' 'read -P 0x44 32M 32M' 'discard 33M 1M' \
	'read -P 0 33M 1M' 'read -P 0x44 34M 30M'
io 'aio_write -P 0x51 64M 1M' 'aio_write -P 0x52 65M 1M' \
	'aio_write -z -u 66M 1M' 'aio_write -P 0x53 67M 64K' aio_flush \
	'aio_read -P 0x51 64M 1M' 'aio_read -P 0x52 65M 1M' \
	'aio_read -P 0 66M 1M' 'aio_read -P 0x53 67M 64K' aio_flush
io 'write -P 0x66 134217727 1' 'read -P 0x66 134217727 1'
# Zeroes that are to be quick must not be made by writing: without unmapping
# they are refused.
qemu-io -f raw -c 'write -z -n 8M 64K' "$uri" >"$tmp/out" 2>&1
grep -q 'not supported' "$tmp/out" || fail "write -z -n: $(cat "$tmp/out")"
map=$(qemu-io -f raw -c map "$uri") || fail "map"
echo "$map"
echo "$map" | grep -q 'not allocated\|allocated' || fail "map"
