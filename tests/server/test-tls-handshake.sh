# SPDX-License-Identifier: BSD-3-Clause
# STARTTLS: before it, beside it and after it; handshakes that never end.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

tls_init
cat >"$tmp/common.py" <<'END'
folder = args[0]
def refused(name, call, *arguments):
    try:
        call(*arguments)
    except Refused as e:
        assert e.name == name, e
        return True
    raise AssertionError("%s was expected" % name)
END
for mode in on require; do
	start_nbdramd --both -m 64M -o tls=$mode -o "tls-dir=$tls" \
		-o handshake-timeout=2s -e open,size=4M \
		-e secret,size=4M,allow=cert:host-1
	for at in "$uri" "$tcp_uri"; do
		{
			cat "$tmp/common.py"
			cat <<'END'
mode = args[1]
# In clear: what may not be opened is not told from what is not there.
p = Peer().hello()
if mode == "on":
    assert [n for n, _ in p.list()] == ["open"]
    p.ask_info("open")
else:
    refused("ERR_TLS_REQD", p.list)
    refused("ERR_TLS_REQD", p.ask_info, "open")
texts = set()
for name in ("secret", "none", ""):
    for what in (p.ask_info, p.go):
        try:
            what(name)
            raise AssertionError(name)
        except Refused as e:
            assert e.name == "ERR_TLS_REQD", e
            texts.add(e.text)
assert len(texts) == 1, texts
# Inside.
for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
    p = Peer().hello()
    if mode == "on":
        p.structured()
        p.meta("base:allocation", name="open")
    p.starttls(folder, version=version)
    # It is forgotten: the reply is a simple one.
    p.kind = "simple"
    assert sorted(n for n, _ in p.list()) == ["open", "secret"]
    refused("ERR_INVALID", p.ask, OPT_STARTTLS)
    refused("ERR_UNKNOWN", p.ask_info, "none")
    p.go("secret")
    p.write(0, b"x" * 100000)
    assert p.read(0, 100001) == b"x" * 100000 + b"\0"
    p.disc()
    p.closed()
    assert p.s.version() == "TLSv1.%d" % (2 + (version != ssl.TLSVersion.TLSv1_2))
    # The end is said inside of TLS, be it asked for, or a hard one: closed()
    # takes no other.
    p = Peer().hello()
    p.starttls(folder, version=version)
    assert p.abort()
    p = Peer().hello()
    p.starttls(folder, version=version)
    p.option(OPT_LIST, magic=1)
    p.closed()
    p = Peer().hello()
    p.starttls(folder, version=version)
    p.go("open")
    p.send(bytes(28))
    p.closed()
# Bytes in clear behind it.
for more in (b"I", struct.pack(">QII", OPTION, OPT_LIST, 0), b"\x16\x03\x01\x00\x05"):
    p = Peer().hello()
    p.send(struct.pack(">QII", OPTION, OPT_STARTTLS, 0) + more)
    try:
        while p.s.recv(100):
            pass
    except OSError:
        pass
# ... or instead of TLS, after it was granted.
for more in (struct.pack(">QII", OPTION, OPT_LIST, 0), bytes(100),
             os.urandom(1000), b"GET / HTTP/1.0\r\n\r\n"):
    p = Peer().hello()
    p.ask(OPT_STARTTLS)
    p.send(more)
    try:
        p.s.shutdown(socket.SHUT_WR)
        while p.s.recv(100):
            pass
    except OSError:
        pass
# TLS from the start is none of NBD's.
p = Peer()
try:
    p.tls(folder)
    raise AssertionError("TLS before STARTTLS")
except (OSError, ssl.SSLError):
    pass
END
		} | uri=$at peer "$tls_client" $mode || fail "$mode, $at"
	done
	grep -q 'refused: TLS: there are bytes in clear behind STARTTLS' "$log" ||
		fail "clear bytes are not told"
	grep -q 'refused: TLS: it does not speak TLS' "$log" ||
		fail "no TLS is not told"
	stop_nbdramd
done

# Those that never finish: hello and silence, a byte at a time, half a record.
start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" \
	-o handshake-timeout=3s 4M
{
	cat "$tmp/common.py"
	cat <<'END'
began = time.time()
silent = []
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
t = context.wrap_bio(i, o)
try:
    t.do_handshake()
except ssl.SSLWantReadError:
    pass
hello = o.read()
for n in range(200):
    p = Peer().hello()
    p.ask(OPT_STARTTLS)
    p.send(hello[:n] if n % 3 else hello)
    silent.append(p)
# Others are served meanwhile.
for n in range(20):
    p = Peer().hello()
    p.starttls(folder)
    p.go()
    p.disc()
    p.closed()
# One that stretches it.
p = Peer().hello()
p.ask(OPT_STARTTLS)
ended = False
for b in hello[:-1]:
    try:
        p.send(bytes([b]))
        time.sleep(.05)
    except OSError:
        ended = True
        break
assert ended, "it may take as long as it likes"
for p in silent:
    try:
        while p.s.recv(10000):
            pass
    except OSError:
        pass
assert time.time() - began < 60
END
} | peer "$tls_client" || fail "handshakes without an end"
grep -Eq '127.0.0.1:[0-9]+: refused: TLS: its handshake took too long' "$log" ||
	fail "handshakes without an end are not told"
stop_nbdramd

# No TLS: nobody is sent there, and the log says once who asked for it.
start_nbdramd --tcp -m 64M 4M
{
	cat "$tmp/common.py"
	cat <<'END'
p = Peer().hello()
refused("ERR_POLICY", p.ask, OPT_STARTTLS)
refused("ERR_POLICY", p.ask, OPT_STARTTLS)
refused("ERR_UNKNOWN", p.ask_info, "none")
p.go()
END
} | peer "$tls_client" || fail "without TLS"
stop_nbdramd
[ "$(grep -Ec '127.0.0.1:[0-9]+: STARTTLS by 127.0.0.1: refused: this server has no TLS .tls = off.' "$log")" = 1 ] ||
	fail "who asked in vain for TLS is not told once: $(cat "$log")"
