#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Hosts that build in clones of one image, all at once, each through this host's
# kernel:
#
#	nbdramd --NBD--> nbdfuse --one file, by FUSE--> loop --> ext4
#
# An image with a source tree is made once. Every host gets a clone of it by
# nbdramctl, mounts it, compiles, writes something of its own. Then: each has what it
# made and the rest as in the image, the image is byte for byte what it was, and the
# memory of the pool is that of the image and of what differs, as nbdramctl tells.
#
# In a mount namespace of its own, see test-kernel-nbdfuse.sh.
if [ ! "${NBDRAM_OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	NBDRAM_OWN_MOUNTS=1 exec unshare --mount "${BASH:-bash}" "$0"
fi
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/interop/source-tree.sh"
PATH=$PATH:/usr/sbin:/sbin
requires_root
requires_command nbdfuse nbdcopy fusermount3 losetup mkfs.ext4 e2fsck gcc make jq
[ -c /dev/fuse ] || skip "no /dev/fuse"
[ -e /dev/loop-control ] || skip "no loop devices"
grep -qw ext4 /proc/filesystems || modprobe ext4 2>/dev/null ||
	skip "this kernel has no ext4"
source_tree
hosts=$(scaled 20 4)

# NAME's files lie in $tmp/NAME: fuse/nbd, fuse.pid, loop, mnt.
attach()
{
	local name=$1 there=$tmp/$1 loop
	mkdir -p "$there/fuse" "$there/mnt"
	rm -f "$there/fuse.pid"
	: >"$there/fuse/nbd"
	nbdfuse -P "$there/fuse.pid" "$there/fuse/nbd" \
		"nbd+unix:///$name?socket=$socket" &
	echo $! >"$there/child"
	wait_for 30 test -s "$there/fuse.pid" || return 1
	loop=$(losetup -f --show "$there/fuse/nbd") || return 1
	echo "$loop" >"$there/loop"
}

_unfused() { fusermount3 -u "$1" 2>/dev/null || ! mountpoint -q "$1"; }

detach()
{
	local there=$tmp/$1
	if mountpoint -q "$there/mnt"; then
		umount "$there/mnt" || return 1
	fi
	if [ -s "$there/loop" ]; then
		losetup -d "$(cat "$there/loop")" || return 1
		rm "$there/loop"
	fi
	if [ -s "$there/child" ]; then
		# The loop device lets go of the file a moment later.
		wait_for 30 _unfused "$there/fuse/nbd" || return 1
		wait "$(cat "$there/child")" || return 1
		rm "$there/child"
	fi
}

# However the test ends, no mount and no loop device stays.
undo()
{
	local there
	for there in "$tmp"/image "$tmp"/host-*; do
		[ -d "$there" ] || continue
		detach "${there##*/}" && continue
		umount -l "$there/mnt"
		[ ! -s "$there/loop" ] || losetup -d "$(cat "$there/loop")"
		fusermount3 -uz "$there/fuse/nbd"
		kill "$(cat "$there/child")"
	done
}

# What a host does with its disk; runs for all of them at once.
build()
{
	local name=$1 mnt=$tmp/$1/mnt
	mkdir "$mnt/work" &&
		TMPDIR=$mnt/work make -s -C "$mnt/$source_dir" MYCFLAGS=-O0 \
			linux >"$tmp/$name/make" 2>&1 &&
		echo "$name" >"$mnt/who" &&
		head -c 1048576 /dev/urandom >"$mnt/own" &&
		sha256sum <"$mnt/own" >"$tmp/$name/own.sum"
}

sum_of_image()
{
	nbdcopy "nbd+unix:///image?socket=$socket" - | sha256sum
}

start_nbdramd -m 2G -e image,size=256M
cleanup_fn undo 2>/dev/null
attach image || fail "attach the image"
mkfs.ext4 -q "$(cat "$tmp/image/loop")" || fail "mkfs"
mount -t ext4 "$(cat "$tmp/image/loop")" "$tmp/image/mnt" || fail "mount"
tar -C "$tmp/image/mnt" -xf "$source_tar" || fail "unpack"
(cd "$tmp/image/mnt" && find . -type f -exec sha256sum {} +) >"$tmp/sums"
[ "$(wc -l <"$tmp/sums")" -gt 50 ] || fail "too few files"
detach image || fail "detach the image"
before=$(sum_of_image)
held() { ctl --json show | jq .pool.held; }
held_before=$(held) || fail "show"

for ((i = 1; i <= hosts; i++)); do
	ctl clone image "host-$i" || fail "clone"
	attach "host-$i" || fail "attach host-$i"
	mount -t ext4 "$(cat "$tmp/host-$i/loop")" "$tmp/host-$i/mnt" ||
		fail "mount host-$i"
done
since=$(date +%s%N)
builders=()
for ((i = 1; i <= hosts; i++)); do
	build "host-$i" &
	builders+=($!)
done
for ((i = 1; i <= hosts; i++)); do
	wait "${builders[i - 1]}" ||
		fail "host-$i cannot build: $(tail -n 5 "$tmp/host-$i/make")"
done
echo "$hosts builds at once: $((($(date +%s%N) - since) / 1000000)) ms"

for ((i = 1; i <= hosts; i++)); do
	detach "host-$i" || fail "detach host-$i"
	attach "host-$i" || fail "attach host-$i again"
	e2fsck -f -n "$(cat "$tmp/host-$i/loop")" >"$tmp/fsck" 2>&1 ||
		fail "e2fsck of host-$i: $(cat "$tmp/fsck")"
	mnt=$tmp/host-$i/mnt
	mount -o ro "$(cat "$tmp/host-$i/loop")" "$mnt" || fail "mount it again"
	[ "$(cat "$mnt/who")" = "host-$i" ] || fail "host-$i has another's file"
	[ "$(sha256sum <"$mnt/own")" = "$(cat "$tmp/host-$i/own.sum")" ] ||
		fail "host-$i: what it wrote has changed"
	(cd "$mnt" && sha256sum --quiet -c "$tmp/sums") ||
		fail "host-$i: the image's files have changed"
	[ "$("$mnt/$source_dir/src/lua" -e 'print(6 * 7)')" = 42 ] ||
		fail "host-$i: what was compiled does not run"
	detach "host-$i" || fail "detach host-$i at last"
done
[ "$(sum_of_image)" = "$before" ] || fail "the image has changed"

# Blocks that the clones share are held once; each disk has a slot besides.
held=$(held)
image=$(ctl --json show image | jq .disk.held)
own=0
for ((i = 1; i <= hosts; i++)); do
	one=$(ctl --json show "host-$i" | jq .disk.own)
	[ "$one" -ge 1048576 ] || fail "host-$i has $one bytes of its own"
	own=$((own + one))
done
slots=$((held - image - own))
echo "held $held: image $image, the hosts' own $own, slots $slots"
[ "$slots" -ge 0 ] && [ "$slots" -le $(((hosts + 2) * 4096)) ] ||
	fail "the sum is not what is held"
for ((i = 1; i <= hosts; i++)); do
	ctl delete "host-$i" || fail "delete host-$i"
done
_as_before() { [ "$(held)" = "$held_before" ]; }
wait_for 30 _as_before || fail "memory has not come back: $(held)"
