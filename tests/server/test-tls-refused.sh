# SPDX-License-Identifier: BSD-3-Clause
# Clients that TLS keeps out, each with one line in the log that says why and who.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

requires_command nbdinfo
tls_init
tls_sign "$tls" "$tmp/lost" client /CN=lost
printf 'database=%s\ndefault_md=sha256\n' "$tmp/index" >"$tmp/ca.conf"
: >"$tmp/index"
revoke()
{
	openssl ca -config <(printf '[ca]\ndefault_ca=a\n[a]\n'; cat "$tmp/ca.conf") \
		-cert "$tls/ca-cert.pem" -keyfile "$tls/ca-key.pem" "$@" \
		>"$tmp/openssl" 2>&1 || fail "openssl ca: $(cat "$tmp/openssl")"
}
revoke -revoke "$tmp/lost/client-cert.pem"
revoke -gencrl -crldays 10 -out "$tls/ca-crl.pem"
tls_authority "$tmp/other" "another authority"
tls_sign "$tmp/other" "$tmp/foreign" client /CN=host-1
cp "$tls/ca-cert.pem" "$tmp/foreign/"
# The same server for a client that has another authority, or none of its own.
mkdir "$tmp/distrusts" "$tmp/nameless"
cp "$tls_client"/client-* "$tmp/distrusts/"
cp "$tmp/other/ca-cert.pem" "$tmp/distrusts/"
cp "$tls/ca-cert.pem" "$tmp/nameless/"
echo "alice:$(openssl rand -hex 32)" >"$tmp/wrong.psk"
sed 's/alice/mallory/' "$tmp/wrong.psk" >"$tmp/mallory.psk"

start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" 8M

# out WHAT PATTERN COMMAND...: it must fail, and the log have one line more.
out()
{
	local what=$1 pattern=$2 before now
	shift 2
	before=$(wc -l <"$log")
	"$@" >"$tmp/out" 2>&1 && fail "$what: it is let in"
	cat "$tmp/out"
	wait_for 20 eval '[ "$(wc -l <"$log")" -gt "$before" ]' ||
		fail "$what: nothing in the log"
	sleep 0.1
	now=$(tail -n +$((before + 1)) "$log")
	[ "$(wc -l <<<"$now")" = 1 ] || fail "$what: not one line: $now"
	grep -Eq "^nbdramd: [0-9]+ 127\.0\.0\.1:[0-9]+: .*($pattern)" <<<"$now" ||
		fail "$what: the log says: $now"
}
# By OpenSSL: GnuTLS does not show a certificate that is of no use.
cat >"$tmp/shows.py" <<'END'
try:
    p = Peer().hello()
    p.starttls(args[0], version=ssl.TLSVersion["TLSv1_" + args[1][2:]])
    p.s.recv(1)
except (OSError, ssl.SSLError):
    sys.exit(1)
END
shows() { uri=nbd://127.0.0.1:$port peer "$@" <"$tmp/shows.py"; }

# What it is told: a client of TLS 1.3 thinks that it is in, and asks already.
told()
{
	grep -Eiq "$2" "$tmp/out" || fail "$1: the client does not hear why: $(cat "$tmp/out")"
	! grep -Eiq 'reset|non-properly' "$tmp/out" || fail "$1: reset: $(cat "$tmp/out")"
}
cat >"$tmp/asks.py" <<'END'
p = Peer().hello()
p.starttls(args[0], version=ssl.TLSVersion.TLSv1_3)
time.sleep(float(args[1]))
try:
    for i in range(3):
        p.option(OPT_GO, string("default") + b"\0\0")
    print("answer", p.s.recv(1))
except (OSError, ssl.SSLError) as e:
    print("error", e)
sys.exit(1)
END
asks() { uri=nbd://127.0.0.1:$port peer "$@" <"$tmp/asks.py"; }

for version in 1.2 1.3; do
	of() { only_tls $version timeout 60 nbdinfo --size "$@"; }
	out "a foreign authority" \
		'refused: TLS: its certificate is refused: .*\(/CN=host-1\)' \
		shows "$tmp/foreign" $version
	out "revoked" 'certificate is refused: certificate revoked \(/CN=lost\)' \
		of "$(tls_uri "$tmp/lost")"
	out "no certificate" 'refused: TLS: it has shown no certificate' \
		of "$(tls_uri "$tmp/nameless")"
	[ $version = 1.2 ] || told "no certificate" 'fatal alert'
	out "refuses us" 'refused: TLS: (it refuses us: |it has gone|Connection reset)' \
		of "$(tls_uri "$tmp/distrusts")"
	out "another key" 'user "alice" of keys.psk has another key' \
		of "$(psk_uri alice "$tmp/wrong.psk")"
	cp "$tmp/out" "$tmp/out-wrong"
	out "an unknown user" 'keys.psk has no user "mallory"' \
		of "$(psk_uri mallory "$tmp/mallory.psk")"
	cmp "$tmp/out" "$tmp/out-wrong" ||
		fail "a client can tell who has a key here"
done
for pause in 0 0.3; do
	out "revoked, and it asks" 'certificate revoked' asks "$tmp/lost" $pause
	told "revoked, and it asks" 'alert certificate revoked'
done
# In clear there is nothing, whatever is asked for.
out "INFO or GO in clear" '(INFO|GO|STRUCTURED_REPLY|EXTENDED_HEADERS) by 127\.0\.0\.1: refused: it speaks in clear' \
	timeout 60 nbdinfo "nbd://127.0.0.1:$port/default"
clear() { uri=nbd://127.0.0.1:$port peer "$@" <"$tmp/clear.py"; }
cat >"$tmp/clear.py" <<'END'
p = Peer().hello()
if args[0] == "EXPORT_NAME":
    p.option(OPT_EXPORT_NAME, b"default")
    p.closed()
else:
    for i in range(5):
        refused("ERR_TLS_REQD", p.ask, int(args[0]))
sys.exit(1)
END
out "LIST in clear" 'LIST by 127\.0\.0\.1: refused: it speaks in clear' clear 3
out "an unknown option in clear" 'unknown by 127\.0\.0\.1: refused: it speaks in clear' clear 77
out "EXPORT_NAME in clear" 'EXPORT_NAME by 127\.0\.0\.1: refused: it speaks in clear' \
	clear EXPORT_NAME
timeout 60 nbdinfo --list "nbd://127.0.0.1:$port" >"$tmp/out" 2>&1
! grep -q default "$tmp/out" || fail "it is listed in clear"
# An expired one: openssl can only sign what ends in the future.
if command -v certtool >/dev/null; then
	printf 'cn = old\ntls_www_client\nexpiration_date = "2001-01-01 00:00:00"\nactivation_date = "2000-01-01 00:00:00"\n' \
		>"$tmp/template"
	mkdir "$tmp/old"
	cp "$tls_client/client-key.pem" "$tls/ca-cert.pem" "$tmp/old/"
	certtool --generate-certificate --template "$tmp/template" \
		--load-privkey "$tmp/old/client-key.pem" \
		--load-ca-certificate "$tls/ca-cert.pem" \
		--load-ca-privkey "$tls/ca-key.pem" \
		--outfile "$tmp/old/client-cert.pem" >"$tmp/out" 2>&1 ||
		fail "certtool: $(cat "$tmp/out")"
	out "an expired one" 'certificate has expired \(/CN=old\)' \
		shows "$tmp/old" 1.3
fi
# A good one still gets in, without a warning.
nbdinfo --size "$(tls_uri)" || fail "a good client is kept out"
stop_nbdramd
