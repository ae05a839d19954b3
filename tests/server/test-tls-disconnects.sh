# SPDX-License-Identifier: BSD-3-Clause
# Ends of all kinds inside of TLS: nothing that was sent whole is lost, and no
# connection, processor time or memory stays behind.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

requires_python_libnbd
tls_init
start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" -o workers=2 \
	-e d,size=16M,default,writers=many
# 500 times: WRITE, DISC and close at once, without reading.
peer "$tls_client" "$(scaled 500 100)" <<'END' || fail "WRITE, DISC, close"
folder, n = args[0], int(args[1])
for i in range(n):
    p = Peer().hello()
    p.starttls(folder, version=ssl.TLSVersion.TLSv1_3)
    p.go()
    p.send(p.prepare(WRITE, i * 8192, payload=struct.pack(">I", i) * 1024) +
           p.header(DISC))
    # With close_notify, and without.
    if i % 2:
        try:
            p.s.setblocking(False)
            p.s.unwrap()
        except (OSError, ssl.SSLError):
            pass
    p.close()
    if i % 25 == 24 or i == n - 1:
        # Old ones have been done when a later one has had an answer.
        deadline = time.time() + 20
        q = Peer().hello()
        q.starttls(folder)
        q.go()
        for j in range(max(0, i - 24), i + 1):
            want = struct.pack(">I", j) * 1024
            while q.read(j * 8192, 4096) != want:
                assert time.time() < deadline, "write %d is lost" % j
                time.sleep(.01)
        q.disc()
        q.closed()
END

# close_notify, FIN and RST, while idle, within a request, within a record.
peer "$tls_client" <<'END' || fail "ends"
folder = args[0]
def connect(version):
    p = Peer().hello()
    p.starttls(folder, version=version)
    return p.go()
for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
    for within in ("idle", "header", "payload", "reply"):
        for end in ("notify", "fin", "rst", "record"):
            p = connect(version)
            if within == "header":
                p.send(p.prepare(READ, 0, 4096)[:13])
            elif within == "payload":
                p.send(p.prepare(WRITE, 0, payload=bytes(100000))[:70000])
            elif within == "reply":
                for i in range(32):
                    p.send(p.prepare(READ, 0, 4 * MIB))
            if end == "notify":
                p.s.setblocking(False)
                try:
                    p.s.unwrap()
                except (OSError, ssl.SSLError):
                    pass
            elif end == "rst":
                p.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
            elif end == "record":
                raw = socket.socket(fileno=os.dup(p.s.fileno()))
                raw.setblocking(True)
                raw.sendall(b"\x17\x03\x03\x40\x00" + bytes(100))
                raw.close()
            p.close()
# Garbage in place of a record.
for i in range(30):
    p = connect(None)
    raw = socket.socket(fileno=os.dup(p.s.fileno()))
    raw.setblocking(True)
    raw.sendall(os.urandom(200) if i % 2 else b"\x17\x03\x03\x00\x40" + os.urandom(64))
    try:
        while p.s.recv(65536):
            pass
    except (OSError, ssl.SSLError):
        pass
    raw.close()
    p.close()
END
alone() { [ "$(ctl clients --json | grep -c '"id"')" = 0 ]; }
wait_for 20 alone || fail "connections are left: $(ctl clients)"
# At rest it does nothing.
cpu() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
before=$(cpu)
sleep 1
[ $(($(cpu) - before)) -le 3 ] || fail "it does not rest: $(($(cpu) - before)) ticks in a second"
stop_nbdramd
