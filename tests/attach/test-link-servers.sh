# SPDX-License-Identifier: BSD-3-Clause
# Links to the servers that there are, plain and through TLS (by the relay, where the
# kernel has none): they open, and all that is written comes back.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"
. "$abs_top_srcdir/tests/attach/link.sh"

tls_init
tls_sign "$tls" "$tls" client /CN=host-1
rounds=$(scaled 400)

# nbdramd: everything, and the identity. TLS 1.2 too, and each cipher.
start_nbdramd --both -m 64M 8M
told='size=8388608 .*blocks=1,4096,67108864 name=default description="RAM disk" uuid=[-0-9a-f]{36} gen=1$'
link "$told" -n "$rounds" "nbd://127.0.0.1:$port/"
link "$told" -n "$rounds" "$uri"
link "$told" -a "nbd://127.0.0.1:$port/default"
no_link ENXIO 'is that the export.s name' "nbd://127.0.0.1:$port/none"
# A session that somebody goes on with.
link "$told" -e 5 "nbd://127.0.0.1:$port/"
link "$told" -e 5 "$uri"
link "$told" -e 6 "nbd://127.0.0.1:$port/"
no_link ESTALE 'the session has a higher epoch already' -e 5 \
	"nbd://127.0.0.1:$port/"
no_link EINVAL 'has a ; in it' -e 7 "nbd://127.0.0.1:$port/a;b"
stop_nbdramd
for cipher in TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 \
	TLS_CHACHA20_POLY1305_SHA256; do
	start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" \
		-o "tls-ciphers=$cipher" 8M
	link "tls=\"TLSv1.3 $cipher " -n "$rounds" "$(tls_uri "$tls")"
	[ "${cipher%384}" != "$cipher" ] ||
		link "tls=\"TLSv1.3 $cipher " -n "$rounds" "$(psk_uri)"
	stop_nbdramd
done

# openssl.cnf says which version a server has.
cat >"$tmp/only-1.2.cnf" <<'END'
openssl_conf = init
[init]
ssl_conf = ssl
[ssl]
system_default = default
[default]
MaxProtocol = TLSv1.2
END
start_nbdramd --both --with env OPENSSL_CONF="$tmp/only-1.2.cnf" -- -m 64M \
	-o tls=require -o "tls-dir=$tls" 8M
link 'tls="TLSv1.2 ECDHE-' -n "$rounds" "$(tls_uri "$tls")"
link 'tls="TLSv1.2 [A-Z]*-?PSK-' -n "$rounds" "$(psk_uri)"
link 'tls="TLSv1.2 ECDHE-' -n "$rounds" \
	"nbds+unix:///?socket=${uri#*socket=}&tls-certificates=$tls"
stop_nbdramd

# nbdkit has GnuTLS, and sends tickets.
if command -v "$nbdkit" >/dev/null; then
	for args in '' "--tls=require --tls-verify-peer --tls-certificates=$tls" \
		"--tls=require --tls-psk=$tls/keys.psk"; do
		free_socket
		# shellcheck disable=SC2086
		"$nbdkit" -f -U "$socket" $args memory 8M >"$tmp/nbdkit" 2>&1 &
		pid=$!
		cleanup_fn end_process "$pid"
		wait_for 20 test -S "$socket" || fail "nbdkit does not start"
		case $args in
		*psk*) link 'tls="TLSv1.3 ' -n "$rounds" \
			"nbds+unix://alice@/?socket=$socket&tls-psk-file=$tls/keys.psk" ;;
		*tls*) link 'tls="TLSv1.3 ' -n "$rounds" \
			"nbds+unix:///?socket=$socket&tls-certificates=$tls" ;;
		*) link 'size=8388608 ' -n "$rounds" \
			"nbd+unix:///?socket=$socket" ;;
		esac
		end_process "$pid"
	done
fi

if command -v qemu-nbd >/dev/null; then
	truncate -s 8M "$tmp/disk"
	for args in '' "--object tls-creds-x509,id=t,endpoint=server,dir=$tls,verify-peer=yes --tls-creds t"; do
		free_socket
		# shellcheck disable=SC2086
		qemu-nbd -t -f raw -x disk -k "$socket" $args "$tmp/disk" &
		pid=$!
		cleanup_fn end_process "$pid"
		wait_for 20 test -S "$socket" || fail "qemu-nbd does not start"
		if [ "$args" ]; then
			link 'tls="TLSv1.3 ' -n "$rounds" \
				"nbds+unix:///disk?socket=$socket&tls-certificates=$tls"
		else
			link 'size=8388608 ' -n "$rounds" \
				"nbd+unix:///disk?socket=$socket"
			no_link ENXIO 'refuses' "nbd+unix:///none?socket=$socket"
		fi
		end_process "$pid"
	done
fi

PATH=$PATH:/usr/sbin:/sbin
if command -v nbd-server >/dev/null; then
	truncate -s 8M "$tmp/disk"
	free_port
	printf '[generic]\nport = %s\nlistenaddr = 127.0.0.1\nallowlist = true\n[disk]\nexportname = %s\n' \
		"$port" "$tmp/disk" >"$tmp/nbd-server.conf"
	nbd-server -C "$tmp/nbd-server.conf" -p "$tmp/nbd-server.pid" \
		>"$tmp/nbd-server" 2>&1 || fail "nbd-server: $(cat "$tmp/nbd-server")"
	wait_for 20 test -s "$tmp/nbd-server.pid" || fail "no nbd-server.pid"
	cleanup_fn end_process "$(cat "$tmp/nbd-server.pid")"
	wait_for 20 "$link_io" -a "nbd://127.0.0.1:$port/disk" >"$tmp/link" ||
		fail "nbd-server: $(cat "$tmp/link" "$tmp/nbd-server")"
	link 'size=8388608 ' -n "$rounds" "nbd://127.0.0.1:$port/disk"
	no_link ENXIO 'refuses' "nbd://127.0.0.1:$port/none"
fi
