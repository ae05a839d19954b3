# SPDX-License-Identifier: BSD-3-Clause
# Who, times which export, times each option, times each command, with TLS and
# where it is required: what may not be opened is neither listed nor told apart from
# what is not there, and what may only be read is not written by any command.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

tls_init
tls_sign "$tls" "$tmp/host-2" client /CN=host-2
mkdir "$tmp/nobody"
cp "$tls/ca-cert.pem" "$tmp/nobody/"
me=$(id -u)
for mode in on require; do
	start_nbdramd --both -m 64M -o tls=$mode -o "tls-dir=$tls" \
		-o tls-verify=no -e all,size=1M,writers=many \
		-e one,size=1M,writers=many,allow=cert:host-1 \
		-e "mix,size=1M,writers=many,allow=cert:host-1,any ro" \
		-e me,size=1M,writers=many,allow=uid:$me \
		-e "net,size=1M,writers=many,allow=127.0.0.0/8,::1 ro" \
		-e "fixed,size=1M,readonly,allow=cert:*" \
		-e key,size=1M,writers=many,allow=psk:alice
	peer $mode "$tmp" <<'END' || fail "tls = $mode"
mode, tmp = args
NAMES = "all one mix me net fixed key none".split() + ["al", "all\u00e9", "x" * 4096]
WHO = {  # from where, whose files, what may be done
    "tcp": (tcp_uri, None, "all=rw mix=ro net=rw"),
    "unix": (uri, None, "all=rw mix=ro me=rw"),
    "tcp, no name": (tcp_uri, "nobody", "all=rw mix=ro net=rw"),
    "tcp, host-1": (tcp_uri, "host-1", "all=rw one=rw mix=rw net=rw fixed=ro"),
    "tcp, host-2": (tcp_uri, "host-2", "all=rw mix=ro net=rw fixed=ro"),
    "unix, host-1": (uri, "host-1", "all=rw one=rw mix=rw me=rw fixed=ro"),
}
META = b"\0\0\0\0"
tried = 0

def begin(at, files, kind="simple"):
    p = Peer(at).hello()
    if files:
        p.starttls(tmp + "/" + files)
    return p.negotiate(kind) if files or mode == "on" else p

def listed(p):
    return sorted(n for n, _ in p.list())

OPTIONS = {
    "INFO": lambda p, name: p.ask_info(name),
    "GO": lambda p, name: p.go(name),
    "LIST_META": lambda p, name: p.meta(name=name, option=OPT_LIST_META_CONTEXT),
    "SET_META": lambda p, name: p.meta("base:allocation", name=name),
}
COMMANDS = {  # what each one answers where it is only read
    READ: None, FLUSH: None, CACHE: None, BLOCK_STATUS: None,
    WRITE: "EPERM", TRIM: "EPERM", WRITE_ZEROES: "EPERM",
}

for who, (at, files, may) in WHO.items():
    may = dict(m.split("=") for m in may.split())
    clear = files is None
    if clear and mode == "require":
        may = {}
    p = begin(at, files, "structured")
    if clear and mode == "require":
        refused("ERR_TLS_REQD", p.list)
    else:
        assert listed(p) == sorted(may), (who, listed(p))
    for option, ask in OPTIONS.items():
        wanted = ("ERR_TLS_REQD" if clear and (mode == "require" or
                                               option in ("INFO", "GO"))
                  else "ERR_UNKNOWN")
        texts = set()
        for name in NAMES:
            tried += 1
            if name in may:
                q = begin(at, files, "structured")
                ask(q, name)
                if option in ("INFO", "GO"):
                    assert q.size == MIB, (who, name)
                    assert bool(q.flags & F_READ_ONLY) == (may[name] == "ro")
                q.close()
                continue
            try:
                ask(p, name)
                raise AssertionError((who, option, name))
            except Refused as e:
                assert e.name == wanted, (who, option, name, e)
                texts.add(e.text)
        assert len(texts) <= 1, (who, option, texts)
    for name in NAMES:
        q = begin(at, files)
        tried += 1
        if name in may:
            q.export_name(name)
            assert q.size == MIB
            q.disc()
        else:
            q.option(OPT_EXPORT_NAME, name.encode())
            assert q.closed(), (who, name)
    for name, access in may.items():
        q = begin(at, files, "structured")
        q.meta("base:allocation", name=name)
        q.go(name)
        for command, error in COMMANDS.items():
            tried += 1
            q.request(command, 0, 0 if command == FLUSH else 4096,
                      payload=bytes(4096) if command == WRITE else b"")
            got = q.answer()
            want = error if access == "ro" else None
            assert (got.name() if got.error else None) == want, \
                (who, name, command, got.name())
        q.disc()
        assert q.closed()
print(tried, "tries")
END
	stop_nbdramd
done
