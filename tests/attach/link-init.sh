#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the guest of test-link-kernel-tls.sh.
. /guest-init.sh
die()
{
	tail -n 30 /host/tmp/log
	dmesg | tail -n 5
	end "GUEST-FAIL $*"
}

cp -r /files/tls /files/nbdramd /files/link-io /host/tmp/ || die "cannot copy"
uri="nbds://localhost:10809/?tls-certificates=/tmp/tls"
psk="nbds://alice@localhost:10809/?tls-psk-file=/tmp/tls/keys.psk"

can_connect() { grep -q ': [0-9A-F]*:2A39 [0-9A-F]*:0000 0A' /proc/net/tcp*; }
nobody() { ! can_connect; }

conf=none
: >/host/tmp/none

modules()
{
	for name in "$@"; do
		module "$name.ko"
	done
}

# start_nbdramd CIPHERS
start_nbdramd()
{
	host OPENSSL_CONF=/tmp/$conf /tmp/nbdramd -l 127.0.0.1:10809 \
		-s /tmp/control -m 100M -o workers=1 -o tls=require -o tls-dir=/tmp/tls \
		-o "tls-ciphers=$1" 8M 2>>/host/tmp/log &
	server=$!
	within 30 "nbdramd does not start" can_connect
}

# start_nbdkit [OPTION...]
start_nbdkit()
{
	host nbdkit -f -i 127.0.0.1 -p 10809 --tls=require "$@" memory 8M \
		2>>/host/tmp/log &
	server=$!
	within 30 "nbdkit does not start" can_connect
}

stop()
{
	kill $(pidof nbdramd nbdkit)
	wait $server
	within 30 "the port stays" nobody
}

# link HOW URI: how it must be done.
link()
{
	host /tmp/link-io -n 8 "$2" >/out || die "$2: $(cat /out)"
	grep -q "tls=\"$1\"" /out || die "not $1: $(cat /out)"
	say "$(cut -c1-9 /out) $1"
}

both() { link "$1" "$uri"; link "$1" "$psk"; }

# No module at all; then one without ciphers; then with them.
start_nbdramd TLS_AES_128_GCM_SHA256
both 'TLSv1.3 TLS_AES_128_GCM_SHA256 (relay)'
modules net/tls/tls
if [ ! -d /sys/module/gcm ]; then
	both 'TLSv1.3 TLS_AES_128_GCM_SHA256 (relay)'
fi
modules crypto/gf128mul crypto/ghash-generic crypto/ctr crypto/gcm crypto/seqiv
both 'TLSv1.3 TLS_AES_128_GCM_SHA256 (kernel)'
host /tmp/link-io -n 1 -r "$uri" | grep -q '(relay)' || die "no relay if asked for"
stop
start_nbdramd TLS_AES_256_GCM_SHA384
link 'TLSv1.3 TLS_AES_256_GCM_SHA384 (kernel)' "$uri"
stop
start_nbdramd TLS_CHACHA20_POLY1305_SHA256
both 'TLSv1.3 TLS_CHACHA20_POLY1305_SHA256 (relay)'
modules lib/crypto/libchacha lib/crypto/libpoly1305 crypto/chacha_generic \
	crypto/poly1305_generic crypto/chacha20poly1305
both 'TLSv1.3 TLS_CHACHA20_POLY1305_SHA256 (kernel)'
stop

# TLS 1.2: other keys, other nonces.
conf=only-1.2
printf '%s\n' 'openssl_conf = a' '[a]' 'ssl_conf = b' '[b]' \
	'system_default = c' '[c]' 'MaxProtocol = TLSv1.2' \
	>/host/tmp/only-1.2
start_nbdramd ECDHE-ECDSA-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384
link 'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256 (kernel)' "$uri"
link 'TLSv1.2 PSK-AES256-GCM-SHA384 (kernel)' "$psk"
stop
start_nbdramd ECDHE-ECDSA-CHACHA20-POLY1305:PSK-AES128-GCM-SHA256
link 'TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305 (kernel)' "$uri"
stop

# GnuTLS sends tickets before its first answer.
start_nbdkit --tls-certificates=/tmp/tls --tls-verify-peer
link 'TLSv1.3 TLS_[A-Z0-9_]* (kernel)' "$uri"
stop
start_nbdkit --tls-psk=/tmp/tls/keys.psk
link 'TLSv1.3 TLS_[A-Z0-9_]* (kernel)' "$psk"
stop
[ "$(sed -n 's/^TlsRxSw[ 	]*//p' /proc/net/tls_stat)" -ge 8 ] &&
	[ "$(sed -n 's/^TlsTxSw[ 	]*//p' /proc/net/tls_stat)" -ge 8 ] ||
	die "the kernel knows of no TLS"
[ "$(sed -n 's/^TlsDecryptError[ 	]*//p' /proc/net/tls_stat)" = 0 ] ||
	die "records that could not be decrypted"
pass
