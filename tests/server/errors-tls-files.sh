# SPDX-License-Identifier: BSD-3-Clause
# A tls-dir with something wrong in it: nbdramd does not start, and says what; each
# kind of fault is in unit/test-io-tls-files.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

tls_init
free_socket
refused()
{
	wrong 1 "$1" -l "unix:$socket" -s "$tmp/control" -o tls=on \
		-o "tls-dir=$tls" "${@:2}" 1M
}
mv "$tls" "$tls-away"
refused "tls: $tls: cannot be opened: No such file"
mkdir "$tls"
refused "tls: $tls: there is neither server-cert.pem nor keys.psk"
rmdir "$tls"
mv "$tls-away" "$tls"

echo "bob" >>"$tls/keys.psk"
refused "tls: $tls/keys.psk: line 2: no colon"
sed -i '$d' "$tls/keys.psk"
mv "$tls/ca-cert.pem" "$tmp/ca"
refused "ca-cert.pem: is not there"
mv "$tmp/ca" "$tls/ca-cert.pem"
cp "$tls/server-key.pem" "$tmp/key"
cp "$tls_client/client-key.pem" "$tls/server-key.pem"
refused "server-cert.pem: does not belong to the key"
openssl pkey -aes128 -passout pass:x -in "$tmp/key" -out "$tls/server-key.pem"
refused "server-key.pem: is encrypted"
cp "$tmp/key" "$tls/server-key.pem"
refused "tls-ciphers: there is no cipher \"TLS_NONE\"" -o tls-ciphers=TLS_NONE
for none in FOO RC4-SHA @SECLEVEL=0; do
	refused "tls-ciphers: there is no cipher \"$none\" in TLS 1.2" \
		-o "tls-ciphers=ECDHE-ECDSA-AES128-GCM-SHA256:$none"
done
refused "tls-ciphers: there is no cipher in .*:FOO" \
	-o tls-ciphers=TLS_AES_128_GCM_SHA256:FOO
for none in eNULL aNULL; do
	refused "tls-ciphers: .* is no protection" \
		-o "tls-ciphers=ECDHE-ECDSA-AES128-GCM-SHA256:$none"
done
# Keys that no client of TLS 1.3 can use.
start_nbdramd --tcp -o tls=require -o "tls-dir=$tls" \
	-o tls-ciphers=TLS_AES_256_GCM_SHA384:HIGH:!aNULL 1M
grep -q 'warning: tls: .*keys.psk is of no use in TLS 1.3' "$log" ||
	fail "no warning of keys"
stop_nbdramd
# Names in rules that nobody can have.
start_nbdramd -m 8M -e a,size=1M,allow=any -e b,size=1M,allow=uid:1,cert:b
[ "$(grep -c 'warning: .*-e.*cert: and psk: let nobody in' "$log")" = 1 ] ||
	fail "no warning of names: $(cat "$log")"
stop_nbdramd
# Without TLS nobody looks there.
start_nbdramd -o "tls-dir=$tmp/nowhere" 1M
stop_nbdramd
# Everybody may read the key: a warning, and one line.
chmod 644 "$tls/server-key.pem"
start_nbdramd --tcp -o tls=require -o "tls-dir=$tls" 1M
[ "$(grep -c "warning: tls: $tls/server-key.pem: can be read by everybody" "$log")" = 1 ] ||
	fail "no warning"
stop_nbdramd
# The wrong words.
wrong 2 'tls = maybe: off, on or require is wanted' -o tls=maybe 1M
