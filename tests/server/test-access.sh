# SPDX-License-Identifier: BSD-3-Clause
# Who may open what: certificates, keys, users and addresses; in lists, by name, to
# read and to write. What may not be opened is as what is not there.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

requires_python_libnbd
tls_init
tls_sign "$tls" "$tmp/host-2" client /O=farm/CN=host-2 \
	DNS:two.farm.example,URI:urn://disk/2
me=$(id -u)
start_nbdramd --both -m 64M -o tls=on -o "tls-dir=$tls" \
	-e all,size=1M,writers=many \
	-e one,size=1M,writers=many,allow=cert:host-1 \
	-e farm,size=1M,writers=many,allow=cert:host-* \
	-e dns,size=1M,writers=many,allow=cert:*.farm.example \
	-e urn,size=1M,writers=many,allow=cert:urn://disk/2 \
	-e key,size=1M,writers=many,allow=psk:alice \
	-e "mix,size=1M,writers=many,allow=cert:host-1,any ro" \
	-e me,size=1M,writers=many,allow=uid:$me \
	-e other,size=1M,writers=many,allow=uid:$((me + 1)) \
	-e net,size=1M,writers=many,allow=127.0.0.0/8 \
	-e mapped,size=1M,writers=many,allow=::ffff:127.0.0.1 \
	-e v6,size=1M,writers=many,allow=::/0 \
	-e far,size=1M,writers=many,allow=10.0.0.0/8,fd00::/8 \
	-e nobody,size=1M,writers=many,allow=psk:nobody
# The log tells what the client is not told.
peer "$tmp/host-2" <<'END' || fail "refusals"
p = Peer(tcp_uri).hello()
p.starttls(args[0])
for name in ("one", "none"):
    try:
        p.go(name)
    except Refused as e:
        assert (e.name, e.text) == ("ERR_UNKNOWN", "there is no such export"), e
END
grep -q 'GO "one" by cert:host-2: refused: it is not allowed to (allow)' "$log" ||
	fail "the log does not say why"
grep -q 'GO "none" by cert:host-2: refused: there is no such export' "$log" ||
	fail "the log does not say that there is none"

"$python" - "$port" "$socket" "$tmp" "$tls" <<END || fail "the matrix"
import errno, nbd, sys
port, sock, tmp, tls = sys.argv[1:]
names = ("all one farm dns urn key mix me other net mapped v6 far nobody "
         "none").split()
tcp = "127.0.0.1:" + port
who = {
    "host-1": ("nbds://%s/NAME?tls-certificates=%s/host-1" % (tcp, tmp),
               "all=rw one=rw farm=rw mix=rw net=rw mapped=rw"),
    "host-2": ("nbds://%s/NAME?tls-certificates=%s/host-2" % (tcp, tmp),
               "all=rw farm=rw dns=rw urn=rw mix=ro net=rw mapped=rw"),
    "alice": ("nbds://alice@%s/NAME?tls-psk-file=%s/keys.psk" % (tcp, tls),
              "all=rw key=rw mix=ro net=rw mapped=rw"),
    "tcp": ("nbd://%s/NAME" % tcp, "all=rw mix=ro net=rw mapped=rw"),
    "unix": ("nbd+unix:///NAME?socket=" + sock, "all=rw mix=ro me=rw"),
    "unix host-1": ("nbds+unix:///NAME?socket=%s&tls-certificates=%s/host-1"
                    % (sock, tmp), None),
}
for name, (uri, may) in who.items():
    if may is None:
        continue
    may = dict(m.split("=") for m in may.split())
    # The list.
    h = nbd.NBD()
    h.set_uri_allow_local_file(True)
    h.set_opt_mode(True)
    h.connect_uri(uri.replace("NAME", ""))
    found = []
    h.opt_list(lambda n, d: found.append(n) and 0)
    assert sorted(found) == sorted(may), (name, found)
    # INFO of each, on one connection; and the words of each refusal.
    words = set()
    for export in names:
        h.set_export_name(export)
        try:
            h.opt_info()
            assert export in may, (name, export)
            assert h.is_read_only() == (may[export] == "ro"), (name, export)
        except nbd.Error as e:
            assert export not in may, (name, export, str(e))
            words.add((e.errno, str(e).replace(export, "NAME")))
    assert len(words) == 1, (name, words)
    h.opt_abort()
    for export in names:
        try:
            h = nbd.NBD()
            h.set_uri_allow_local_file(True)
            h.connect_uri(uri.replace("NAME", export))
        except nbd.Error as e:
            assert export not in may, (name, export, str(e))
            continue
        assert export in may, (name, export)
        h.pread(512, 0)
        # Whatever the client thinks: it must not write.
        h.set_strict_mode(0)
        try:
            h.pwrite(b"x" * 512, 0)
            assert may[export] == "rw", (name, export)
        except nbd.Error as e:
            assert may[export] == "ro" and e.errno == "EPERM", (name, export, e)
        h.shutdown()
END
# Who is there.
peer "$tmp/host-2" <<'END' >"$tmp/p" &
p = Peer(tcp_uri).hello()
p.starttls(args[0])
p.go("mix")
sys.stdout.write("in\n")
sys.stdout.flush()
while not os.path.exists(args[0] + "/enough"):
    time.sleep(.05)
END
wait_for 30 grep -q in "$tmp/p" || fail "host-2 does not come in"
ctl clients --json >"$tmp/clients"
grep -q '"identity": *"cert:host-2"' "$tmp/clients" || fail "$(cat "$tmp/clients")"
grep -q '"tls": *"TLSv1.3"' "$tmp/clients" || fail "$(cat "$tmp/clients")"
grep -q '"access": *"ro"' "$tmp/clients" || fail "$(cat "$tmp/clients")"
touch "$tmp/host-2/enough"
wait %%
stop_nbdramd
