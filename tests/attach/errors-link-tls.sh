# SPDX-License-Identifier: BSD-3-Clause
# Links that TLS forbids: who is refused, by which side, and which file to look at.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"
. "$abs_top_srcdir/tests/attach/link.sh"

tls_init
tls_authority "$tmp/other" "another authority"
tls_sign "$tmp/other" "$tmp/foreign" client /CN=host-1
cp "$tls/ca-cert.pem" "$tmp/foreign/"
mkdir "$tmp/distrusts" "$tmp/nameless" "$tmp/empty" "$tmp/halved"
cp "$tls_client"/client-* "$tmp/distrusts/"
cp "$tmp/other/ca-cert.pem" "$tmp/distrusts/"
cp "$tls/ca-cert.pem" "$tmp/nameless/"
cp "$tls_client"/*-cert.pem "$tmp/halved/"
tls_sign "$tls" "$tmp/late" client /CN=host-1 '' -1
(umask 077
	echo "alice:$(openssl rand -hex 32)" >"$tmp/wrong.psk"
	echo "mallory:$(openssl rand -hex 32)" >"$tmp/mallory.psk"
	cat "$tls/keys.psk" "$tmp/mallory.psk" >"$tmp/two.psk"
	echo "alice" >"$tmp/bad.psk")

# Files of ours.
free_port
no_link EINVAL "$tmp/none: cannot be opened: No such file" "$(tls_uri "$tmp/none")"
no_link EINVAL "$tmp/empty/ca-cert.pem: is not there" "$(tls_uri "$tmp/empty")"
no_link EINVAL 'client-key.pem: cannot be opened' "$(tls_uri "$tmp/halved")"
no_link EINVAL 'client-cert.pem: has expired' "$(tls_uri "$tmp/late")"
no_link EINVAL 'none.psk: cannot be opened' "$(psk_uri alice "$tmp/none.psk")"
no_link EINVAL 'keys.psk: there is no user "bob"' "$(psk_uri bob)"
no_link EINVAL 'bad.psk: line 1: no colon' "$(psk_uri alice "$tmp/bad.psk")"
no_link EINVAL 'two.psk: there is more than one user' \
	"nbds://127.0.0.1:$port/?tls-psk-file=$tmp/two.psk"

start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" 8M
link "tls=\"TLSv1.3 " "$(tls_uri)"
link "tls=\"TLSv1.3 " "$(psk_uri)"
link "tls=\"TLSv1.3 " "nbds://127.0.0.1:$port/?tls-psk-file=$tls/keys.psk"
no_link EACCES 'write nbds: in the place of nbd:' "nbd://127.0.0.1:$port/"
no_link EACCES 'it wants a certificate; put client-cert.pem' \
	"$(tls_uri "$tmp/nameless")"
no_link EACCES 'none of its authorities has signed our client-cert.pem|refuses our client-cert' \
	"$(tls_uri "$tmp/foreign")"
no_link EACCES "server's certificate is refused .*none of the authorities in our ca-cert.pem" \
	"$(tls_uri "$tmp/distrusts")"
no_link EACCES "server's certificate is refused .*that this host trusts" \
	"nbds://127.0.0.1:$port/"
no_link EACCES "for another host; tls-hostname=" \
	"$(tls_uri)&tls-hostname=elsewhere"
no_link EACCES 'server has another key for user "alice", or none' \
	"$(psk_uri alice "$tmp/wrong.psk")"
no_link EACCES 'server has another key for user "mallory", or none' \
	"$(psk_uri mallory "$tmp/mallory.psk")"
# Whom nobody is to be compared with may be anybody.
link "tls=" "$(tls_uri "$tmp/distrusts")&tls-verify-peer=false"
link "tls=" "$(tls_uri)&tls-hostname=localhost"

# The server's answers in TLS, cut after each 97 bytes.
start_liar proxy "$port" 97
for ((n = 0; n < 100; n++)); do
	"$link_io" -t 5000 "nbds://127.0.0.1:$liar/?tls-certificates=$tls_client" \
		>"$tmp/link" 2>&1 && break
	read -r line <"$tmp/link"
	[[ $line = "ECONNRESET: "*": the server has hung up"* ]] ||
		fail "after $((97 * n)) bytes: $line"
done
[ "$n" -gt 10 ] && [ "$n" -lt 100 ] || fail "$n tries"
stop_liar

# No TLS there; a certificate for another time; what is no TLS.
stop_nbdramd
start_nbdramd --tcp -m 64M 8M
no_link EACCES 'set up TLS there, or write nbd:' "$(tls_uri)"
stop_nbdramd
start_liar say 4e42444d4147494349484156454f505400030003e889045565a9000000050000000100000000485454502f312e31203430300d0a
no_link EPROTO 'what the server sends is no TLS' \
	"nbds://127.0.0.1:$liar/?tls-certificates=$tls_client"
