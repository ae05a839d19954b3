#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real build on the disk, by this host's kernel:
#
#	server --NBD--> nbdfuse --one file, by FUSE--> loop --> ext4
#
# mkfs, mount, unpack a source tree, compile it, unmount, attach again, check,
# compare all that is there, remove it, fstrim.
#
# In a mount namespace of its own: one that another test makes meanwhile (ip netns
# does) would hold a copy of our mounts, and the loop device would stay in use
# until that test has ended.
if [ ! "${NBDRAM_OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	NBDRAM_OWN_MOUNTS=1 exec unshare --mount "${BASH:-bash}" "$0"
fi
. ./functions.sh
. "$abs_top_srcdir/tests/interop/each-server.sh"
. "$abs_top_srcdir/tests/interop/source-tree.sh"
PATH=$PATH:/usr/sbin:/sbin
requires_root
requires_command nbdfuse nbdinfo fusermount3 losetup mkfs.ext4 e2fsck fstrim gcc make
[ -c /dev/fuse ] || skip "no /dev/fuse"
[ -e /dev/loop-control ] || skip "no loop devices"
grep -qw ext4 /proc/filesystems || modprobe ext4 2>/dev/null ||
	skip "this kernel has no ext4"
source_tree

mnt=$tmp/mnt
file=$tmp/fuse/nbd
mkdir "$mnt" "$tmp/fuse"
loop=
fuse_pid=

attach()
{
	rm -f "$tmp/fuse.pid"
	: >"$file"
	nbdfuse -P "$tmp/fuse.pid" "$file" "$uri" &
	fuse_pid=$!
	_there() { [ -s "$tmp/fuse.pid" ] || ! kill -0 "$fuse_pid"; }
	wait_for 10 _there || fail "nbdfuse does not start"
	[ -s "$tmp/fuse.pid" ] || fail "nbdfuse has ended"
	loop=$(losetup -f --show "$file") || skip "no loop device is free"
	[ "$(blockdev --getsize64 "$loop")" = $((512 << 20)) ] || fail "size"
}

_unfused() { fusermount3 -u "$file" 2>/dev/null || ! mountpoint -q "$file"; }

detach()
{
	if mountpoint -q "$mnt"; then
		umount "$mnt" || return 1
	fi
	if [ "$loop" ]; then
		losetup -d "$loop" || return 1
		loop=
	fi
	if [ "$fuse_pid" ]; then
		# The loop device lets go of the file a moment later.
		wait_for 10 _unfused || return 1
		wait "$fuse_pid" || return 1
		fuse_pid=
	fi
}

# However the test ends, no mount and no loop device stays.
undo()
{
	detach && return
	umount -l "$mnt"
	[ ! "$loop" ] || losetup -d "$loop"
	fusermount3 -uz "$file"
	[ ! "$fuse_pid" ] || kill "$fuse_pid"
}

took()
{
	local start
	start=$(date +%s%N)
	"${@:2}" || fail "$1: exit status $?"
	printf '%-24s %6d ms\n' "$1" $((($(date +%s%N) - start) / 1000000))
}

start_server 512M memory=1G
cleanup_fn undo 2>/dev/null
attach
took mkfs.ext4 mkfs.ext4 -q "$loop"
mount -t ext4 "$loop" "$mnt" || fail "mount"
took unpack tar -C "$mnt" -xf "$source_tar"
# Work files of the compiler lie on the disk too.
mkdir "$mnt/work"
compile()
{
	TMPDIR=$mnt/work make -s -C "$mnt/$source_dir" -j"$(nproc)" \
		MYCFLAGS=-O0 linux >"$tmp/make" 2>&1 || tail "$tmp/make"
	[ -x "$mnt/$source_dir/src/lua" ]
}
took compile compile
took "32 MiB and fsync" dd if=/dev/urandom of="$mnt/random" bs=1M count=32 \
	conv=fsync status=none
(cd "$mnt" && find . -type f -exec sha256sum {} +) >"$tmp/sums"
echo "$(wc -l <"$tmp/sums") files"
[ "$(wc -l <"$tmp/sums")" -gt 100 ] || fail "too few files"
took detach detach

attach
took e2fsck e2fsck -f -n "$loop"
mount -t ext4 "$loop" "$mnt" || fail "mount again"
took compare bash -c 'cd "$1" && sha256sum --quiet -c "$2"' - "$mnt" \
	"$tmp/sums"
answer=$("$mnt/$source_dir/src/lua" -e 'print(6 * 7)') &&
	[ "$answer" = 42 ] || fail "what was compiled does not run"

# Files that are removed become holes.
data_mib()
{
	nbdinfo --map --totals "$uri" | awk '$4 == "data" { print int($1 / 2^20) }'
}
sync -f "$mnt"
before=$(data_mib)
rm -r "${mnt:?}/$source_dir" "$mnt/random"
sync -f "$mnt"
took fstrim fstrim -v "$mnt"
after=$(data_mib)
echo "data on the disk: $before MiB, after fstrim $after MiB"
[ "$after" -le $((before - 32)) ] || fail "fstrim has not arrived"
detach || fail "detach after fstrim"
attach
took e2fsck e2fsck -f -n "$loop"
detach || fail "last detach"
