#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The whole system of the User-mode Linux guest of test-kernel-tls.sh: its kernel
# has TLS, so nbdramd and its clients run in here, nbd-client among them. Ends with the line GUEST-PASS or
# GUEST-FAIL.
export PATH=/bin

end()
{
	cat /host/tmp/log 2>/dev/null
	echo "$*"
	sync
	poweroff -f
}

die()
{
	end "GUEST-FAIL $*"
	exit 1
}

# host COMMAND...: one of the host's programs.
host() { chroot /host /usr/bin/env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin \
	HOME=/tmp TMPDIR=/tmp LC_ALL=C "$@"; }

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
mount -t tmpfs -o size=300m tmp /host/tmp || die "tmpfs"
ifconfig lo 127.0.0.1 up
# What AES-GCM is made of; some may be in the kernel itself.
for module in crypto/gf128mul crypto/ghash-generic crypto/ctr crypto/gcm \
	crypto/seqiv net/tls/tls; do
	file=/host$t_modules/kernel/$module.ko
	[ ! -f "$file" ] || insmod "$file" || die "insmod $module"
done
cp -r /files/tls /host/tmp/tls
cp /files/nbdramd /host/tmp/nbdramd
dd if=/dev/urandom of=/host/tmp/data bs=1M count=24 2>/dev/null

host /tmp/nbdramd -l 127.0.0.1:10809 -s /tmp/control -m 100M -o workers=1 \
	-o tls=require -o tls-dir=/tmp/tls 24M 2>/host/tmp/log &
server=$!
n=0
until grep -q 'listening to' /host/tmp/log; do
	n=$((n + 1))
	[ $n -lt 300 ] || die "nbdramd does not start"
	sleep 0.1
done
uri="nbds://localhost:10809/?tls-certificates=/tmp/tls"
psk="nbds://alice@localhost:10809/?tls-psk-file=/tmp/tls/keys.psk"
printf '[overrides]\ndisabled-version = tls1.3\n' >/host/tmp/only-1.2
host nbdcopy /tmp/data "$uri" || die "nbdcopy to it"
for version in 1.3 1.2; do
	priority=GNUTLS_SYSTEM_PRIORITY_FILE=/tmp/only-$version
	[ $version = 1.2 ] || priority=none=
	for from in "$uri" "$psk"; do
		host "$priority" nbdcopy "$from" /tmp/back ||
			die "nbdcopy from it, TLS $version"
		cmp /host/tmp/data /host/tmp/back || die "TLS $version: other data"
	done
	n=$(grep -c "TLSv$version, .* (kernel), " /host/tmp/log)
	[ "$n" -ge 2 ] || die "TLS $version is not the kernel's"
done
[ "$(sed -n 's/^TlsTxSw[ 	]*//p' /proc/net/tls_stat)" -ge 5 ] ||
	die "the kernel knows of no TLS"

# nbd-client hands the kernel one end of a socket pair and does TLS between it and
# the server.
module=/host$t_modules/kernel/drivers/block/nbd.ko
[ ! -f "$module" ] || insmod "$module" nbds_max=1 ||
	die "insmod nbd"
dev=/dev/nbd0
attach()
{
	host nbd-client localhost 10809 $dev -N "" -b 4096 "$@" >/tmp.log 2>&1 ||
		die "nbd-client $*: $(cat /tmp.log)"
	n=0
	until [ "$(cat /sys/block/nbd0/size)" = $((24 * 2048)) ]; do
		n=$((n + 1))
		[ $n -lt 300 ] || die "size of nbd0: $(cat /sys/block/nbd0/size)"
		sleep 0.1
	done
}
attach -certfile /tmp/tls/client-cert.pem -keyfile /tmp/tls/client-key.pem \
	-cacertfile /tmp/tls/ca-cert.pem -tlshostname localhost
cmp /host/tmp/data $dev || die "nbd-client reads other data"
dd if=/dev/urandom of=/host/tmp/new bs=1M count=24 2>/dev/null
dd if=/host/tmp/new of=$dev bs=1M conv=fsync 2>/dev/null || die "dd to $dev"
host nbd-client -d $dev >/tmp.log 2>&1 || die "nbd-client -d: $(cat /tmp.log)"
host nbdcopy "$uri" /tmp/back || die "nbdcopy after nbd-client"
cmp /host/tmp/new /host/tmp/back || die "what nbd-client wrote is not there"
kill $(pidof nbdramd)
wait $server || die "nbdramd has not ended well"
end "GUEST-PASS"
