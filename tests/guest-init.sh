# SPDX-License-Identifier: BSD-3-Clause
# What the first process of a guest of guest.sh begins with, run by busybox: its file
# systems, the loopback device, $t_NAME from the command line. The host's files are at
# /host, for reading only, and all programs but busybox come from there; what is
# written goes to the tmpfs at /host/tmp or to disks.
# shellcheck shell=sh
export PATH=/bin

say() { echo "[$(cut -d' ' -f1 /proc/uptime)] $*"; }

end()
{
	say "$*"
	sync
	poweroff -f
	# It does not come back.
	sleep 100
}

die()
{
	dmesg | tail -n 20
	end "GUEST-FAIL $*"
}

pass() { end "GUEST-PASS"; }

# host COMMAND...: one of the host's programs.
host() { chroot /host /usr/bin/env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin \
	HOME=/tmp TMPDIR="${tmpdir:-/tmp}" LC_ALL=C "$@"; }

# module NAME [PARAMETER...]: as guest.sh's requires_guest calls it; some may be in
# the kernel itself.
module()
{
	file=/host$t_modules/kernel/$1
	shift
	[ ! -f "$file" ] || insmod "$file" "$@" || die "insmod $file"
}

# within SECONDS WHAT COMMAND...: wait until it succeeds.
within()
{
	limit=$(($(cut -d. -f1 /proc/uptime) + $1))
	what=$2
	shift 2
	until "$@"; do
		[ "$(cut -d. -f1 /proc/uptime)" -lt "$limit" ] || die "$what"
		sleep 0.05
	done
}

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
mount -t tmpfs -o "size=${t_tmp:-300m}" tmp /host/tmp || die "tmpfs"
ifconfig lo 127.0.0.1 up
