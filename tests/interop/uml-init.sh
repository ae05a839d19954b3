#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the guest of test-kernel-uml.sh.
. /guest-init.sh
mkdir /host/tmp/disk
module drivers/block/nbd.ko
dev=/dev/nbd0
queue=/sys/block/nbd0

ifconfig vec0 "$t_ip" netmask 255.255.255.0 up || die "no network"

# until_size no|yes: the kernel has let go of the disk, or has it.
has_size()
{
	case $1:$(cat $queue/size) in
	no:0 | yes:[1-9]*) return 0 ;;
	esac
	return 1
}
until_size() { within 10 "size of nbd0: not $1" has_size "$1"; }

attach()
{
	host nbd-client "$t_host" "$t_port" $dev -N "" -b 4096 -C "$1" \
		>/tmp.log 2>&1 || die "nbd-client: $(cat /tmp.log)"
	until_size yes
	[ "$(cat $queue/size)" = "$t_sectors" ] ||
		die "$(cat $queue/size) sectors, not $t_sectors"
	[ "$(cat $queue/queue/logical_block_size)" = 4096 ] || die "block size"
	[ "$(cat $queue/ro)" = 0 ] || die "read-only"
	[ "$(cat $queue/queue/fua)" = 1 ] || die "no FUA"
	[ "$(cat $queue/queue/discard_max_bytes)" -gt 0 ] || die "no discard"
}

detach()
{
	host nbd-client -d $dev >/tmp.log 2>&1 ||
		die "nbd-client -d: $(cat /tmp.log)"
	until_size no
}

say "$(uname -sr)"
for connections in $(echo "$t_connections" | tr , ' '); do
	attach "$connections"
	host mke2fs -q -F -t ext4 $dev || die "mke2fs"
	mount -t ext4 /host$dev /host/tmp/disk || die "mount"
	say "attached by $connections, ext4 made and mounted"

	tar -C /host/tmp/disk -xzf /source.tar.gz || die "tar"
	mkdir /host/tmp/disk/work
	tmpdir=/tmp/disk/work host make -s -C "/tmp/disk/$t_dir" \
		MYCFLAGS=-O0 linux \
		>/make.log 2>&1 || die "make: $(tail -n 5 /make.log)"
	[ "$(host "/tmp/disk/$t_dir/src/lua" -e 'print(6 * 7)')" = 42 ] ||
		die "what was compiled does not run"
	say "source tree compiled on it"
	dd if=/dev/urandom of=/host/tmp/disk/random bs=1M count=8 2>/dev/null
	host sh -c 'cd /tmp/disk && find . -type f -exec sha256sum {} + \
		>/tmp/sums' || die "sha256sum"
	say "$(wc -l </host/tmp/sums) files"
	umount /host/tmp/disk || die "umount"
	detach

	attach "$connections"
	host e2fsck -f -n $dev >/tmp.log 2>&1 || die "e2fsck: $(cat /tmp.log)"
	mount -t ext4 /host$dev /host/tmp/disk || die "mount again"
	host sh -c 'cd /tmp/disk && sha256sum --quiet -c /tmp/sums' ||
		die "files differ after attaching again"
	say "attached again: clean, and all files as they were"
	rm -r "/host/tmp/disk/$t_dir" /host/tmp/disk/random
	host fstrim -v /tmp/disk || die "fstrim"
	umount /host/tmp/disk || die "umount again"

	# The raw disk, past the page cache.
	dd if=/dev/urandom of=/data bs=1M count=8 2>/dev/null
	dd if=/data of=/host$dev bs=1M oflag=direct 2>/tmp.log ||
		die "direct write: $(cat /tmp.log)"
	dd if=/host$dev of=/back bs=1M count=8 iflag=direct 2>/tmp.log ||
		die "direct read: $(cat /tmp.log)"
	cmp /data /back || die "direct read differs"
	host blkdiscard -z -o 4194304 -l 4194304 $dev || die "blkdiscard -z"
	dd if=/host$dev of=/back bs=1M count=8 iflag=direct 2>/tmp.log
	dd if=/dev/zero of=/data bs=1M seek=4 count=4 conv=notrunc 2>/tmp.log
	cmp /data /back || die "zeroes differ"
	host blkdiscard $dev || die "blkdiscard"
	dd if=/host$dev of=/back bs=1M count=8 iflag=direct 2>/tmp.log
	[ "$(tr -d '\000' </back | wc -c)" = 0 ] || die "data after blkdiscard"
	detach
	say "raw writes, zeroes, discards; detached"
done
dmesg | grep -i 'I/O error' && die "the kernel saw errors"
pass
