#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files that are no pool, or are one no longer: refused, and left as they are.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool

# kept NAME: the file is what it was; put the good one back.
kept()
{
	[ "$(sum "$pool/pool")" = "$wrong" ] || fail "$1: the file was changed"
	[ "$(ls -A "$pool")" = pool ] || fail "$1: something was left beside it"
	cp --sparse=always "$tmp/good" "$pool/pool"
}

# What is read of a file and how long it is.
sum()
{
	stat -c %s "$1"
	sha256sum <"$1"
}

start_nbdkit 8M pool="$pool" memory=16M
client <<'END'
for i in range(64):
    h.pwrite(b"%4096d" % i, i * 65536)
END
stop_nbdkit
cp --sparse=always "$pool/pool" "$tmp/good"

# With a size and without: neither makes a new pool of it.
for size in "" 8M; do
	# shellcheck disable=SC2086
	try() { refused "$pool" $size pool="$pool"; }

	: >"$pool/pool"
	wrong=$(sum "$pool/pool")
	try
	kept "empty file"

	head -c 1M /dev/urandom >"$pool/pool"
	wrong=$(sum "$pool/pool")
	try
	kept "garbage"

	head -c 16M /dev/zero >"$pool/pool"
	wrong=$(sum "$pool/pool")
	try
	kept "zeroes"

	echo '#!/bin/sh' >"$pool/pool"
	wrong=$(sum "$pool/pool")
	try
	kept "short file"

	for length in 1 100 4095 4096 8192 100000 1048576; do
		truncate -s "$length" "$pool/pool"
		wrong=$(sum "$pool/pool")
		try
		kept "cut to $length"
	done

	# The head of the file: what it is, of which version, with which
	# features. (Not more: what lies further in may well be free memory.)
	for at in 0 3 7 8 11 12 24 31 48; do
		printf '\xa5' | dd of="$pool/pool" bs=1 seek="$at" conv=notrunc \
			status=none
		wrong=$(sum "$pool/pool")
		try
		kept "byte $at"
	done
done

rm "$pool/pool"
mkdir "$pool/pool"
refused "$pool" 8M pool="$pool"
[ -d "$pool/pool" ] || fail "a folder was replaced"
rmdir "$pool/pool"
mkfifo "$pool/pool"
refused "$pool" 8M pool="$pool"
[ -p "$pool/pool" ] || fail "a pipe was replaced"
rm "$pool/pool"

# The good one is good.
cp --sparse=always "$tmp/good" "$pool/pool"
start_nbdkit pool="$pool" memory=16M
client <<'END' || fail "the good pool has lost data"
for i in range(64):
    assert h.pread(4096, i * 65536) == b"%4096d" % i
END
