#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the guest of test-kernel-tls.sh: its kernel has TLS, so nbdramd
# and its clients run in here, nbd-client among them.
. /guest-init.sh
die()
{
	cat /host/tmp/log
	end "GUEST-FAIL $*"
}

# What AES-GCM is made of.
for name in crypto/gf128mul crypto/ghash-generic crypto/ctr crypto/gcm \
	crypto/seqiv net/tls/tls; do
	module "$name.ko"
done
cp -r /files/tls /host/tmp/tls
cp /files/nbdramd /host/tmp/nbdramd
dd if=/dev/urandom of=/host/tmp/data bs=1M count=24 2>/dev/null

host /tmp/nbdramd -l 127.0.0.1:10809 -s /tmp/control -m 100M -o workers=1 \
	-o tls=require -o tls-dir=/tmp/tls 24M 2>/host/tmp/log &
server=$!
within 30 "nbdramd does not start" grep -q 'listening to' /host/tmp/log
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
module drivers/block/nbd.ko nbds_max=1
dev=/dev/nbd0
attach()
{
	host nbd-client localhost 10809 $dev -N "" -b 4096 "$@" >/tmp.log 2>&1 ||
		die "nbd-client $*: $(cat /tmp.log)"
	within 30 "size of nbd0: not 24M" grep -qx $((24 * 2048)) \
		/sys/block/nbd0/size
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
cat /host/tmp/log
pass
