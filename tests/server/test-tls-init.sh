# SPDX-License-Identifier: BSD-3-Clause
# nbdramctl tls-init: what it makes works at once with the server and with clients;
# what is there is kept.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

requires_command nbdinfo qemu-img
dir=$tmp/tls
init() { "$nbdramctl" tls-init "$@" >"$tmp/out" 2>"$tmp/errors"; }
init "$dir" --host disks.example --host 10.0.0.7 --client host-1 --psk alice ||
	fail "$(cat "$tmp/errors")"
[ ! -s "$tmp/errors" ] || fail "$(cat "$tmp/errors")"
for secret in ca-key.pem server-key.pem keys.psk host-1/client-key.pem alice/keys.psk; do
	[ "$(stat -c %a "$dir/$secret")" = 600 ] || fail "$secret: $(stat -c %a "$dir/$secret")"
	grep -qx "made $dir/$secret" "$tmp/out" || fail "it does not tell of $secret"
done
[ "$(stat -c %a "$dir" "$dir/host-1" | sort -u)" = 700 ] || fail "folders"
if command -v openssl >/dev/null; then
	openssl x509 -in "$dir/server-cert.pem" -noout -ext subjectAltName >"$tmp/names"
	for name in DNS:disks.example "IP Address:10.0.0.7" DNS:localhost \
		"IP Address:127.0.0.1"; do
		grep -q "$name" "$tmp/names" || fail "no $name: $(cat "$tmp/names")"
	done
fi

# Once more: nothing changes, and what is new is added.
(cd "$dir" && find . -type f -exec sha256sum {} + | sort) >"$tmp/before"
grep -v keys.psk "$tmp/before" >"$tmp/kept"
init "$dir" --client host-1 --psk alice || fail "$(cat "$tmp/errors")"
[ ! -s "$tmp/out" ] || fail "a second time it says: $(cat "$tmp/out")"
(cd "$dir" && find . -type f -exec sha256sum {} + | sort) >"$tmp/after"
cmp "$tmp/before" "$tmp/after" || fail "a second time changes something"
init "$dir" --client host-2 --psk bob || fail "$(cat "$tmp/errors")"
(cd "$dir" && find . -type f -exec sha256sum {} + | sort) >"$tmp/after"
[ -z "$(comm -23 "$tmp/kept" "$tmp/after")" ] || fail "a third time changes something"
[ "$(cut -d: -f1 "$dir/keys.psk" | tr '\n' ' ')" = 'alice bob ' ] || fail "keys.psk"
cmp <(grep alice "$dir/keys.psk") "$dir/alice/keys.psk" || fail "alice"
cmp <(grep bob "$dir/keys.psk") "$dir/bob/keys.psk" || fail "bob"

# A client's name is where programs look for one; a user's that is no host's is not.
init "$dir" --client=db-1.example --client 'alice@example' --psk=carol ||
	fail "$(cat "$tmp/errors")"
san() { openssl x509 -in "$dir/$1/client-cert.pem" -noout -ext subjectAltName 2>&1; }
if command -v openssl >/dev/null; then
	san host-1 | grep -qx ' *DNS:host-1' || fail "host-1: $(san host-1)"
	san db-1.example | grep -qx ' *DNS:db-1.example' || fail "db-1.example"
	! san alice@example | grep -q DNS: || fail "alice@example"
fi

# Options that all commands have, on either side; what follows -- is the folder.
"$nbdramctl" tls-init --help >"$tmp/out" || fail "--help: $?"
grep -q '^usage:' "$tmp/out" || fail "--help: $(cat "$tmp/out")"
init -s "$tmp/no-socket" "$tmp/json" --json --client a || fail "$(cat "$tmp/errors")"
"$python" - "$tmp/out" "$tmp/json" <<'END' || fail "JSON: $(cat "$tmp/out")"
import json, sys
files = json.load(open(sys.argv[1]))["files"]
assert {"done": "made", "file": sys.argv[2] + "/a/client-key.pem"} in files, files
assert len(files) == 7, files
END
# As in /etc/nbdram/tls, where /etc/nbdram is not there yet; no more than that.
init "$tmp/parent/tls" || fail "in a folder that is not there: $(cat "$tmp/errors")"
[ -f "$tmp/parent/tls/server-cert.pem" ] || fail "no certificate there"
init "$tmp/none/parent/tls" && fail "two folders were made on the way"
"$nbdramctl" --json tls-init "$tmp/json" >"$tmp/out" || fail "--json in front: $?"
[ "$(tr -d ' \n' <"$tmp/out")" = '{"files":[]}' ] || fail "$(cat "$tmp/out")"
(cd "$tmp" && init --client a -- -dir) || fail "--: $(cat "$tmp/errors")"
[ -f "$tmp/-dir/a/client-key.pem" ] || fail "no folder -dir"

start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$dir" 8M
! grep -q warning "$log" || fail "$(grep warning "$log")"
for host in host-1 host-2; do
	nbdinfo --size "nbds://localhost:$port/?tls-certificates=$dir/$host" ||
		fail "nbdinfo, $host"
	qemu-img info --image-opts \
		--object "tls-creds-x509,id=t,endpoint=client,dir=$dir/$host" \
		"driver=nbd,host=localhost,port=$port,tls-creds=t" ||
		fail "qemu-img, $host"
	grep -q "cert:$host" "$log" || fail "the log does not know $host"
	command -v nbd-client >/dev/null || continue
	(cd "$dir/$host" && timeout 60 nbd-client -l -certfile client-cert.pem \
		-keyfile client-key.pem -cacertfile ca-cert.pem \
		-tlshostname localhost localhost "$port") >"$tmp/out" 2>&1
	grep -q '^default' "$tmp/out" ||
		fail "nbd-client, $host: $(cat "$tmp/out")"
done
for user in alice bob; do
	nbdinfo --size "nbds://$user@127.0.0.1:$port/?tls-psk-file=$dir/$user/keys.psk" ||
		fail "nbdinfo, $user"
	qemu-img info --image-opts \
		--object "tls-creds-psk,id=t,endpoint=client,dir=$dir/$user,username=$user" \
		"driver=nbd,host=localhost,port=$port,tls-creds=t" ||
		fail "qemu-img, $user"
done
stop_nbdramd

# What is wrong: one line, nothing is made, and the right status.
wrong_init()
{
	local status=$1 pattern=$2
	shift 2
	init "$@"
	[ $? = "$status" ] || fail "status with: $*"
	[ "$(wc -l <"$tmp/errors")" = 1 ] || fail "not one line with: $*"
	grep -q "^nbdramctl: .*$pattern" "$tmp/errors" ||
		fail "no '$pattern': $(cat "$tmp/errors")"
}
wrong_init 2 'which folder'
wrong_init 2 '--host: a name is missing' "$tmp/new" --host
wrong_init 2 'a host.s name has' "$tmp/new" --host=
wrong_init 2 '--client: a name is missing' "$tmp/new" --client
wrong_init 2 '\.\./x: a name here' "$tmp/new" --client ../x
wrong_init 2 'a:b: a name here' "$tmp/new" --psk a:b
wrong_init 2 'there is no such option' "$tmp/new" --server x
wrong_init 2 'is too much' "$tmp/new" "$tmp/newer"
[ ! -e "$tmp/new" ] || fail "it has made a folder"
wrong_init 1 'cannot be made: No such file' "$tmp/not/any/where"
mv "$dir/ca-key.pem" "$tmp/"
wrong_init 1 'ca-cert.pem: is there without ca-key.pem' "$dir" --client host-3
echo garbage >"$dir/ca-key.pem"
wrong_init 1 'ca-cert.pem: is no certificate that belongs' "$dir" --client host-3
[ ! -e "$dir/host-3" ] || fail "it has made a client"

# A new authority would not fit what the old one has signed.
mv "$dir/ca-cert.pem" "$tmp/"
rm "$dir/ca-key.pem"
wrong_init 1 'server-cert.pem: is there without ca-cert.pem and ca-key.pem' \
	"$dir" --client host-3
[ ! -e "$dir/ca-cert.pem" ] && [ ! -e "$dir/host-3" ] || fail "it has made something"
mv "$tmp/ca-cert.pem" "$tmp/ca-key.pem" "$dir/"

# A user who has a key keeps it, where DIR has lost it.
sed -i '/^bob:/d' "$dir/keys.psk"
"$nbdramctl" tls-init "$dir" --psk bob >"$tmp/out" || fail "bob again: $(cat "$tmp/out")"
cmp <(grep bob "$dir/keys.psk") "$dir/bob/keys.psk" || fail "bob has two keys"

# Root makes them for the service, which is somebody else: nbdramd of the group
# nbdram can read what it needs, now and after a user was added, and no more.
printf 'root:x:0:\nnbdram:x:4711:\n' >"$tmp/group"
as_root()
{
	unshare -m sh -c 'mount --bind "$0" /etc/group && exec "$@"' "$tmp/group" "$@"
}
as_root true 2>/dev/null && command -v setpriv >/dev/null || exit 0
as_root "$nbdramctl" tls-init "$tmp/service" --client a --psk b >"$tmp/out" ||
	fail "as root: $(cat "$tmp/out")"
as_root "$nbdramctl" tls-init "$tmp/service" --psk c >"$tmp/out" || fail "as root"
chmod 755 "$tmp"
reads() { setpriv --reuid 4711 --regid 4711 --clear-groups cat "$tmp/service/$1"; }
for file in ca-cert.pem server-cert.pem server-key.pem keys.psk; do
	reads $file >"$tmp/out" || fail "the service cannot read $file"
done
for file in ca-key.pem a/client-key.pem b/keys.psk; do
	! reads $file >"$tmp/out" 2>&1 || fail "the service can read $file"
done
[ "$(stat -c %a "$tmp/service" "$tmp/service/a" "$tmp/service/server-key.pem" |
	tr '\n' ' ')" = '750 700 640 ' ] || fail "modes"
