#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Hosts that build in clones of one image, all at once, each through this host's
# kernel (see loop-disks.sh).
#
# An image with a source tree is made once; in a long run it is the root of a Debian
# with a compiler besides, and what is built is built by that (chroot). Every host gets
# a clone of it by nbdramctl, mounts it, compiles, writes something of its own. Then:
# each has what it made and the rest as in the image, the image is byte for byte what
# it was, and the memory of the pool is that of the image and of what differs, as
# nbdramctl tells.
if [ ! "${NBDRAM_OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	NBDRAM_OWN_MOUNTS=1 exec unshare --mount "${BASH:-bash}" "$0"
fi
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/interop/source-tree.sh"
. "$abs_top_srcdir/tests/interop/loop-disks.sh"
. "$abs_top_srcdir/tests/interop/debian-root.sh"
requires_command nbdcopy gcc make jq
source_tree
debian_root
hosts=$(scaled 20 4)
size=256M pool=2G
[ ! "$root_tar" ] || size=1G pool=4G

# What a host does with its disk; runs for all of them at once.
build()
{
	local name=$1 mnt=$tmp/$1/mnt
	local words=(env TMPDIR="$mnt/work" make -s -C "$mnt/$source_dir")
	[ ! "$root_tar" ] || words=(chroot "$mnt" env TMPDIR=/work PATH=/usr/bin:/bin
		make -s -C "/$source_dir")
	mkdir "$mnt/work" &&
		"${words[@]}" MYCFLAGS=-O0 linux >"$tmp/$name/make" 2>&1 &&
		echo "$name" >"$mnt/who" &&
		head -c 1048576 /dev/urandom >"$mnt/own" &&
		sha256sum <"$mnt/own" >"$tmp/$name/own.sum"
}

sum_of_image()
{
	nbdcopy "nbd+unix:///image?socket=$socket" - | sha256sum
}

start_nbdramd -m "$pool" -e "image,size=$size"
uri_of() { echo "nbd+unix:///$1?socket=$socket"; }
loop_attach image "$(uri_of image)" || fail "attach the image"
mkfs.ext4 -q "$(cat "$tmp/image/loop")" || fail "mkfs"
loop_mount image || fail "mount"
if [ "$root_tar" ]; then
	tar -C "$tmp/image/mnt" -xf "$root_tar" --exclude='./dev/*' || fail "unpack the root"
fi
tar -C "$tmp/image/mnt" -xf "$source_tar" || fail "unpack"
(cd "$tmp/image/mnt" && find . -type f -exec sha256sum {} +) >"$tmp/sums"
[ "$(wc -l <"$tmp/sums")" -gt 50 ] || fail "too few files"
loop_detach image || fail "detach the image"
before=$(sum_of_image)
held() { ctl --json show | jq .pool.held; }
held_before=$(held) || fail "show"

for ((i = 1; i <= hosts; i++)); do
	ctl clone image "host-$i" || fail "clone"
	loop_attach "host-$i" "$(uri_of "host-$i")" || fail "attach host-$i"
	loop_mount "host-$i" || fail "mount host-$i"
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
	loop_detach "host-$i" || fail "detach host-$i"
	loop_attach "host-$i" "$(uri_of "host-$i")" || fail "attach host-$i again"
	e2fsck -f -n "$(cat "$tmp/host-$i/loop")" >"$tmp/fsck" 2>&1 ||
		fail "e2fsck of host-$i: $(cat "$tmp/fsck")"
	mnt=$tmp/host-$i/mnt
	loop_mount "host-$i" -o ro || fail "mount it again"
	[ "$(cat "$mnt/who")" = "host-$i" ] || fail "host-$i has another's file"
	[ "$(sha256sum <"$mnt/own")" = "$(cat "$tmp/host-$i/own.sum")" ] ||
		fail "host-$i: what it wrote has changed"
	(cd "$mnt" && sha256sum --quiet -c "$tmp/sums") ||
		fail "host-$i: the image's files have changed"
	lua=("$mnt/$source_dir/src/lua")
	[ ! "$root_tar" ] || lua=(chroot "$mnt" "/$source_dir/src/lua")
	[ "$("${lua[@]}" -e 'print(6 * 7)')" = 42 ] ||
		fail "host-$i: what was compiled does not run"
	loop_detach "host-$i" || fail "detach host-$i at last"
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
