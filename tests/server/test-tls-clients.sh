# SPDX-License-Identifier: BSD-3-Clause
# The clients that people use, inside of TLS: libnbd, qemu, openssl; by certificates
# and by keys, with TLS 1.2 alone and 1.3 alone. Data are the same, and the log
# knows who it was.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

requires_command nbdinfo nbdcopy qemu-img
tls_init
start_nbdramd --tcp -m 128M -o tls=require -o "tls-dir=$tls" 20M
head -c 20M /dev/urandom >"$tmp/data"

# said VERSION WHO: the last client that came.
said()
{
	grep -E 'TLSv1\.' "$log" | tail -n 1 | grep -q "$1, .*AES.*128.*, $2\$" ||
		fail "not $1 and $2: $(grep TLSv "$log" | tail -n 1)"
}

for version in 1.2 1.3; do
	for by in cert:host-1 psk:alice; do
		target=$(tls_uri)
		[ "$by" = cert:host-1 ] || target=$(psk_uri)
		only_tls $version nbdinfo "$target" >"$tmp/info" ||
			fail "nbdinfo, TLS $version, $by"
		grep -q 'with TLS' "$tmp/info" || fail "$(cat "$tmp/info")"
		said TLSv$version $by
		only_tls $version nbdcopy "$tmp/data" "$target" ||
			fail "nbdcopy to it, TLS $version, $by"
		said TLSv$version $by
		only_tls $version nbdcopy "$target" "$tmp/back" ||
			fail "nbdcopy from it, TLS $version, $by"
		cmp "$tmp/data" "$tmp/back" || fail "other data, TLS $version, $by"
		only_tls $version nbdinfo --list "$target" >"$tmp/list" || fail "list"
		grep -q 'export="default"' "$tmp/list" || fail "$(cat "$tmp/list")"
	done
done

# qemu: the server's files by the names that it has for a client.
qemu()
{
	local creds=$1
	shift
	timeout 100 qemu-img "$@" --object "$creds" --image-opts \
		"driver=nbd,host=127.0.0.1,port=$port,tls-creds=t"
}
for version in 1.2 1.3; do
	priority=NORMAL:-VERS-ALL:+VERS-TLS$version
	qemu "tls-creds-x509,id=t,endpoint=client,dir=$tls_client,priority=$priority" \
		info >"$tmp/out" || fail "qemu-img, $priority"
	grep -q 'virtual size: 20 MiB' "$tmp/out" || fail "$(cat "$tmp/out")"
	said TLSv$version cert:host-1
	# It adds what keys need by itself only if no priority is given.
	psk=$priority:+ECDHE-PSK:+DHE-PSK:+PSK
	qemu "tls-creds-psk,id=t,endpoint=client,dir=$tls,username=alice,priority=$psk" \
		info >"$tmp/out" || fail "qemu-img with a key, $priority"
	said TLSv$version psk:alice
done
qemu-img convert -n -O raw --image-opts \
	--object "tls-creds-x509,id=t,endpoint=client,dir=$tls_client" \
	"driver=nbd,host=127.0.0.1,port=$port,tls-creds=t" "$tmp/back" ||
	fail "qemu-img convert"
cmp "$tmp/data" "$tmp/back" || fail "other data by qemu-img"

# openssl s_client knows no NBD: something has to say STARTTLS to the server and
# then carry its bytes.
"$python" - "$port" "$tmp/relay" <<'END' &
import os, select, socket, struct, sys
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(9)
with open(sys.argv[2] + ".new", "w") as f:
    f.write(str(l.getsockname()[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
while True:
    a, _ = l.accept()
    b = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    b.sendall(struct.pack(">IQII", 3, 0x49484156454F5054, 5, 0))
    got = b""
    while len(got) < 38:
        got += b.recv(38 - len(got))
    assert got[18:] == struct.pack(">QIII", 0x3E889045565A9, 5, 1, 0)
    pair = {a: b, b: a}
    while pair:
        for s in select.select(list(pair), [], [])[0]:
            data = s.recv(65536)
            if not data:
                a.close(); b.close(); pair = {}
                break
            pair[s].sendall(data)
END
cleanup_fn end_process $!
wait_for 30 [ -s "$tmp/relay" ] || fail "no relay"
for version in 2 3; do
	# LIST and ABORT, as bytes: a client that was written by hand.
	{
		printf 'IHAVEOPT\0\0\0\3\0\0\0\0'
		printf 'IHAVEOPT\0\0\0\2\0\0\0\0'
		sleep 1
	} | timeout 60 openssl s_client -quiet -tls1_$version \
		-CAfile "$tls/ca-cert.pem" -verify_return_error \
		-cert "$tls_client/client-cert.pem" \
		-key "$tls_client/client-key.pem" \
		-connect "127.0.0.1:$(cat "$tmp/relay")" \
		>"$tmp/bytes" 2>"$tmp/errors"
	grep -q default "$tmp/bytes" || fail "s_client: $(cat "$tmp/errors")"
	said TLSv1.$version cert:host-1
done
# TLS 1.1 is no more.
timeout 60 openssl s_client -quiet -tls1_1 -cipher DEFAULT@SECLEVEL=0 \
	-connect "127.0.0.1:$(cat "$tmp/relay")" </dev/null >"$tmp/bytes" 2>&1 &&
	fail "TLS 1.1 is taken"
grep -q 'refused: TLS: its TLS is older than 1.2' "$log" || fail "TLS 1.1: $(tail -n 3 "$log")"
stop_nbdramd
