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
