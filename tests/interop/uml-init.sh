#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The whole system of the User-mode Linux guest of test-kernel-uml.sh, run by
# busybox as its first process. The host's files are at /host, for reading only,
# and all programs but busybox come from there; what is written goes to a tmpfs
# or to the disk under test. Ends with the line GUEST-PASS or GUEST-FAIL.
export PATH=/bin

say() { echo "[$(cut -d' ' -f1 /proc/uptime)] $*"; }

end()
{
	say "$*"
	sync
	poweroff -f
}

die()
{
	dmesg | tail -n 20
	end "GUEST-FAIL $*"
	exit 1
}

# host COMMAND...: one of the host's programs.
host() { chroot /host /usr/bin/env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin \
	HOME=/tmp TMPDIR="${tmpdir:-/tmp}" LC_ALL=C "$@"; }

mkdir -p /proc /sys /host
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sysfs /sys
for word in $(cat /proc/cmdline); do
	case $word in
	t_*=*) eval "${word%%=*}='${word#*=}'" ;;
	esac
done
mount -t hostfs -o ro none /host || die "hostfs"
mount -t devtmpfs dev /host/dev || die "devtmpfs"
mount -t proc proc /host/proc
mount -t sysfs sysfs /host/sys
mount -t tmpfs -o size=128m tmp /host/tmp || die "tmpfs"
mkdir /host/tmp/disk
insmod "/host/$t_module" || die "insmod $t_module"
dev=/dev/nbd0
queue=/sys/block/nbd0

ifconfig lo 127.0.0.1 up
ifconfig vec0 "$t_ip" netmask 255.255.255.0 up || die "no network"

# until_size no|yes: the kernel has let go of the disk, or has it.
until_size()
{
	n=0
	while :; do
		case $1:$(cat $queue/size) in
		no:0 | yes:[1-9]*) return 0 ;;
		esac
		n=$((n + 1))
		[ $n -lt 100 ] || die "size of nbd0 is $(cat $queue/size)"
		sleep 0.1
	done
}

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
end GUEST-PASS
