#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Images that cannot be loaded, and save= that means nothing: no start, nothing is left.
# A disk that cannot be saved at the end is told.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
echo 'no zstd' >"$tmp/bad.zst"
: >"$tmp/empty"
truncate -s 2M "$tmp/large"
refused "missing: cannot be read: No such file" image="$tmp/missing"
refused "bad.zst: its name ends in .zst" image="$tmp/bad.zst" pool="$pool"
[ ! -e "$pool" ] || fail "a pool was left"
refused "bad.zst: its name ends in .zst" 1M save="$tmp/bad.zst"
[ "$(cat "$tmp/bad.zst")" = 'no zstd' ] || fail "it was written to"
refused "empty: is empty" image="$tmp/empty"
refused "is a folder" image="$tmp"
refused "large: is larger than the disk" 1M image="$tmp/large"
refused "needs memory=" alloc=fixed memory=2M image="$tmp/large"
refused "save=: the file is not there yet; say by size=" save="$tmp/missing"
refused "image=: name a file" 1M image=
refused "save=: with clone=per-connection nobody writes" 1M clone=per-connection \
	save="$tmp/x"

mkdir "$tmp/gone"
start_nbdkit 1M save="$tmp/gone/disk.img" memory=64M
rmdir "$tmp/gone"
stop_nbdkit
grep -q 'the disk was not saved: .*gone/disk.img: cannot be written: No such file' \
	"$nbdkit_log" || fail "not said"
