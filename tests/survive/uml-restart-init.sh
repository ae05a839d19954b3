#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the guest of test-kernel-restart.sh.
. /guest-init.sh
module drivers/block/nbd.ko nbds_max=1
dev=/dev/nbd0
disk=/host/tmp/disk
mkdir $disk
cp /files/* /host/tmp/
dd if=/dev/urandom of=/random bs=64k count=64 2>/dev/null

die()
{
	tail -n 20 /host/tmp/log
	dmesg | tail -n 20
	end "GUEST-FAIL $*"
}

ctl() { host /tmp/nbdramctl -s /tmp/control "$@" >/tmp.log 2>&1; }

serve()
{
	host /tmp/nbdramd -l 127.0.0.1:10809 -s /tmp/control -m 128M \
		-o warm=0 -p /tmp/pool -e disk,size=64M 2>>/host/tmp/log &
	server=$!
	within 30 "nbdramd does not start" ctl list
}

has_size() { [ "$(cat /sys/block/nbd0/size)" = "$1" ]; }

attach()
{
	# shellcheck disable=SC2086
	host nbd-client localhost 10809 $dev -N disk -b 4096 $how \
		>/tmp.log 2>&1 || die "nbd-client $how: $(cat /tmp.log)"
	within 30 "nbd0 is not 64 MiB" has_size $((64 * 2048))
}

# It may have gone by itself.
let_go() { host nbd-client -d $dev >/tmp.log 2>&1; }

detach()
{
	let_go
	within 30 "nbd0 is still there" has_size 0
}

# Files of all sizes, until there is an error. What is in /sums was fsynced.
writer()
{
	n=0
	while :; do
		n=$((n + 1))
		dd if=/random of="/piece.$1" bs=4k skip=$((n * 37 % 900)) \
			count=$((1 + n * 7 % 61)) 2>/dev/null
		echo "$round $1 $n" >>"/piece.$1"
		sum=$(sha256sum <"/piece.$1")
		dd if="/piece.$1" of="$disk/$1.$n" bs=256k conv=fsync \
			2>/dev/null || return
		echo "${sum%% *}  $1.$n" >>"/sums.$1"
	done
}

written() { [ "$(cat /sums.* | wc -l)" -ge "$1" ]; }

# What was fsynced is whole, on a file system that is.
look()
{
	host e2fsck -p $dev >/tmp.log 2>&1
	[ $? -le 1 ] || die "e2fsck -p: $(cat /tmp.log)"
	host e2fsck -f -n $dev >/tmp.log 2>&1 || die "e2fsck: $(cat /tmp.log)"
	mount -t ext4 /host$dev $disk || die "mount"
	cat /sums.* >/sums
	(cd $disk && sha256sum -c /sums >/tmp.log 2>&1) ||
		die "$(grep -v OK /tmp.log)"
}

say "$(uname -sr)"
serve
how=
attach
host mke2fs -q -F -t ext4 $dev || die "mke2fs"
detach
round=0
while [ $round -lt "$t_rounds" ]; do
	round=$((round + 1))
	case $(((round + t_first) % 3)) in
	1) how= ;;
	2) how="-C 4" ;;
	0) how="-nonetlink -persist" ;;
	esac
	attach
	mount -t ext4 /host$dev $disk || die "mount"
	rm -f $disk/*.* /sums.*
	touch /sums.1 /sums.2 /sums.3
	writers=
	for i in 1 2 3; do
		writer $i &
		writers="$writers $!"
	done
	within 60 "nothing is written" written $((10 + round * 13 % 40))
	kill -9 "$(pidof nbdramd)"
	wait $server
	[ $((round % 2)) = 0 ] || serve
	let_go
	# shellcheck disable=SC2086
	wait $writers
	umount $disk || die "umount"
	within 30 "nbd0 is still there" has_size 0
	[ $((round % 2)) = 1 ] || serve
	ctl check || die "nbdramctl check: $(cat /tmp.log)"
	was=$how how=
	attach
	look
	say "killed under nbd-client $was: $(wc -l </sums) files there"
	umount $disk || die "umount again"
	detach
done
kill "$(pidof nbdramd)"
wait $server || die "nbdramd has not ended well"
pass
