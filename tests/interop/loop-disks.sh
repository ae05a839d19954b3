# SPDX-License-Identifier: BSD-3-Clause
# Disks of an NBD server in this host's kernel, any number at once:
#
#	nbdramd --NBD--> nbdfuse --one file, by FUSE--> loop --> ext4
#
# Comes after functions.sh. The test must be in a mount namespace of its own:
#
#	if [ ! "${NBDRAM_OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
#		NBDRAM_OWN_MOUNTS=1 exec unshare --mount "${BASH:-bash}" "$0"
#	fi
# shellcheck shell=bash

PATH=$PATH:/usr/sbin:/sbin
requires_root
requires_command nbdfuse fusermount3 losetup mkfs.ext4 e2fsck
[ -c /dev/fuse ] || skip "no /dev/fuse"
[ -e /dev/loop-control ] || skip "no loop devices"
grep -qw ext4 /proc/filesystems || modprobe ext4 2>/dev/null ||
	skip "this kernel has no ext4"

# loop_attach NAME WHERE...: WHERE is a URI, or what else nbdfuse takes. $tmp/NAME/loop
# says the device. NAME's files lie in $tmp/NAME: fuse/nbd, fuse.pid, child, said,
# loop, and mnt to mount it at.
loop_attach()
{
	local name=$1 there=$tmp/$1 loop
	mkdir -p "$there/fuse" "$there/mnt"
	rm -f "$there/fuse.pid"
	: >"$there/fuse/nbd"
	nbdfuse -P "$there/fuse.pid" "$there/fuse/nbd" "${@:2}" 2>"$there/said" &
	echo $! >"$there/child"
	wait_for 30 _fused_or_not "$name"
	if [ ! -s "$there/fuse.pid" ]; then
		wait "$(cat "$there/child")"
		rm "$there/child"
		return 1
	fi
	loop=$(losetup -f --show "$there/fuse/nbd") || return 1
	echo "$loop" >"$there/loop"
}

_fused_or_not()
{
	[ -s "$tmp/$1/fuse.pid" ] || ! kill -0 "$(cat "$tmp/$1/child")" 2>/dev/null
}

loop_mount()
{
	mount -t ext4 "$(cat "$tmp/$1/loop")" "$tmp/$1/mnt" "${@:2}"
}

_unfused() { fusermount3 -u "$1" 2>/dev/null || ! mountpoint -q "$1"; }

loop_detach()
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

# loop_cut NAME: as if the host had lost its power: nothing more is written.
loop_cut()
{
	local there=$tmp/$1
	kill -KILL "$(cat "$there/child")" 2>/dev/null
	wait "$(cat "$there/child")" 2>/dev/null
	rm "$there/child"
	umount "$there/mnt" 2>/dev/null || umount -l "$there/mnt"
	losetup -d "$(cat "$there/loop")" && rm "$there/loop"
	fusermount3 -uz "$there/fuse/nbd"
}

# However the test ends, no mount and no loop device stays.
loop_undo()
{
	local there
	for there in "$tmp"/*/; do
		there=${there%/}
		[ -d "$there/fuse" ] || continue
		loop_detach "${there##*/}" && continue
		umount -l "$there/mnt"
		[ ! -s "$there/loop" ] || losetup -d "$(cat "$there/loop")"
		fusermount3 -uz "$there/fuse/nbd"
		kill "$(cat "$there/child")"
	done
}
cleanup_fn loop_undo 2>/dev/null
