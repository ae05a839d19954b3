# SPDX-License-Identifier: BSD-3-Clause
# writers = host: one host at a time may write, by any number of connections; the
# place is free when its last one has ended.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

tls_init
tls_sign "$tls" "$tmp/host-2" client /CN=host-2
start_nbdramd --both -m 64M -o tls=on -o "tls-dir=$tls" \
	-e disk,size=4M "-e" "ro,size=4M,allow=any ro" \
	-e many,size=4M,writers=many -e readonly,size=4M,readonly
peer "$tmp" <<'END' || fail "writers"
tmp = args[0]
def come(name, who=None, at=None):
    p = Peer(at or tcp_uri).hello()
    if who:
        p.starttls(tmp + "/" + who)
    return p.go(name)
def away(name, *more):
    try:
        come(name, *more)
    except Refused as e:
        assert e.name == "ERR_POLICY" and "writers = host" in e.text, e
        return
    raise AssertionError("two hosts write")
one = [come("disk", "host-1") for i in range(4)]
away("disk", "host-2")
away("disk")
away("disk", None, uri)
# To look at it is no offence.
p = Peer(tcp_uri).hello()
p.starttls(tmp + "/host-2")
p.ask_info("disk")
for p in one[1:]:
    p.disc()
    p.closed()
away("disk", "host-2")
one[0].write(0, b"one")
# However it ends, the place is free at once.
for i in range(30):
    holder, other = ("host-1", "host-2")[::(-1) ** i]
    p = one[0] if i == 0 else p
    if i % 3 == 0:
        p.disc()
        p.closed()
    elif i % 3 == 1:
        p.close()
    else:
        p.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                       struct.pack("ii", 1, 0))
        p.close()
    p = come("disk", other)
    p.write(0, b"two")
p.close()
# All of this host without a name is one.
a, b, c = come("disk"), come("disk", None, uri), come("disk")
away("disk", "host-1")
for q in (a, b, c):
    q.close()
# One session, whoever says so: the same identity opened it.
session = ";s=01234567-89ab-cdef-0123-456789abcdef.1"
a = come("disk" + session, "host-1")
b = come("disk" + session, "host-1")
a.close()
b.close()
# Those that cannot write count for nothing.
a = [come(n, w) for n in ("ro", "many", "readonly") for w in ("host-1", "host-2", None)]
END
stop_nbdramd
