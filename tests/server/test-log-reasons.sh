# SPDX-License-Identifier: BSD-3-Clause
# Who makes much noise in the log hides nobody's refusal for another reason, and
# the log says how much of the noise was held back, without waiting for more.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

requires_command nbdinfo
tls_init
echo "mallory:$(openssl rand -hex 32)" >"$tmp/mallory.psk"
start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" 8M
cat >"$tmp/noise.py" <<'END'
# Each of them goes away within its TLS handshake.
for i in range(200):
    with Peer().hello() as p:
        p.ask(OPT_STARTTLS)
END
for i in 1 2 3; do
	uri=$tcp_uri peer <"$tmp/noise.py" || fail "noise"
	nbdinfo --size "$(psk_uri mallory "$tmp/mallory.psk")" >"$tmp/out" 2>&1 &&
		fail "mallory is let in"
	cat "$tmp/out"
done
wait_for 20 grep -Eq 'nbdramd: [0-9]+ more within a second like: .*it has gone' "$log" ||
	fail "it is not told what was held back"
wait_for 20 eval '[ "$(grep -c "has no user \"mallory\"" "$log")" = 3 ]' ||
	fail "noise hides a refusal"
[ "$(grep -c 'it has gone' "$log")" -lt 300 ] || fail "the noise fills the log"
# All are counted, and no line is lost at the end.
stop_nbdramd
awk '/more within a second like: .*it has gone/ { n += $2; next }
	/it has gone/ { n++ } END { exit n != 600 }' "$log" || fail "some were not counted"
