# SPDX-License-Identifier: BSD-3-Clause
# Certificates, keys and modes of TLS change by a reload: clients that are there go
# on; a fault changes nothing.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

requires_command nbdinfo
tls_init
conf=$tmp/nbdram.conf
write()
{
	printf '[server]\nlisten = 127.0.0.1:%s\ncontrol = %s\ntls = %s\ntls-dir = %s\n%s\n' \
		"$port" "$tmp/control" "$1" "$tls" "${2:-}"
	printf '[pool]\nsize = 64M\n[export d]\nsize = 4M\ndefault = yes\nwriters = many\n'
} >"$conf"
free_port
write require
start_nbdramd --file -c "$conf"
control=$tmp/control
uri=nbd://127.0.0.1:$port

# One that stays for all of it.
peer "$tls_client" >"$tmp/stays" <<'END' &
p = Peer().hello()
p.starttls(args[0])
p.go()
n = 0
try:
    while not os.path.exists(args[0] + "/enough"):
        p.write(n % 100 * 4096, bytes([n % 256]) * 4096)
        assert p.read(n % 100 * 4096, 4096) == bytes([n % 256]) * 4096
        n += 1
        time.sleep(.01)
    p.disc()
    p.closed()
    print("good")
except BaseException as e:
    print(e)
END
stays=$!
nbdinfo --size "$(tls_uri)" || fail "at first"

# Another authority: old clients are kept out, new ones come in.
tls_old=$tmp/tls-old
cp -r "$tls" "$tls_old"
tls_authority "$tls" "a newer authority"
tls_sign "$tls" "$tls" server /CN=localhost DNS:localhost,IP:127.0.0.1
tls_sign "$tls" "$tmp/new" client /CN=host-2
nbdinfo --size "$(tls_uri)" || fail "files have changed, and nobody has reloaded"
ctl reload >"$tmp/out" || fail "reload: $(cat "$tmp/out")"
grep -q 'tls: the files are others now' "$tmp/out" || fail "reload says: $(cat "$tmp/out")"
nbdinfo --size "$(tls_uri "$tmp/new")" || fail "the new client"
nbdinfo --size "$(tls_uri)" && fail "the old client is let in"
ctl reload >"$tmp/out" || fail "reload: $(cat "$tmp/out")"
! grep -q tls "$tmp/out" || fail "nothing has changed, and reload says: $(cat "$tmp/out")"

# Something wrong: all stays as it is.
echo bob >>"$tls/keys.psk"
ctl reload >"$tmp/out" 2>&1 && fail "a fault is taken"
grep -q 'keys.psk: line 2: no colon' "$tmp/out" || fail "reload says: $(cat "$tmp/out")"
write on "tls-ciphers = nonsense"
ctl reload >"$tmp/out" 2>&1 && fail "two faults are taken"
nbdinfo --size "$uri" && fail "tls = on, by a reload that failed"
nbdinfo --size "$(tls_uri "$tmp/new")" || fail "the new client, after a fault"
sed -i '$d' "$tls/keys.psk"

# The modes.
write on
ctl reload >"$tmp/out" || fail "reload: $(cat "$tmp/out")"
grep -q 'tls = on, for new clients' "$tmp/out" || fail "reload says: $(cat "$tmp/out")"
nbdinfo --size "$uri" || fail "in clear, tls = on"
nbdinfo --size "$(psk_uri)" || fail "with a key, tls = on"
write off
ctl reload >"$tmp/out" || fail "reload: $(cat "$tmp/out")"
nbdinfo --size "$uri" || fail "in clear, tls = off"
nbdinfo --size "$(tls_uri "$tmp/new")" && fail "TLS, and tls = off"
write require
for i in $(seq "$(scaled 200 10)"); do
	ctl reload >/dev/null || fail "reload $i"
done
nbdinfo --size "$(tls_uri "$tmp/new")" || fail "the new client, at last"
touch "$tls_client/enough"
wait "$stays"
[ "$(cat "$tmp/stays")" = good ] || fail "the one that stays: $(cat "$tmp/stays")"
stop_nbdramd
