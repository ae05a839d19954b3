#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# NAME;s=UUID.EPOCH: a higher epoch ends all connections of lower ones before it
# is let in, an equal one adds a connection, a lower one is refused; other
# sessions and clients without any do not notice.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

# An address of this host that others have as well; it is no loopback.
outside=
for at in $(hostname -I 2>/dev/null); do
	case $at in
	*:* | 127.*) ;;
	*) outside=$at && break ;;
	esac
done
also=()
[ ! "$outside" ] || also=(--insecure -l "$outside:0")

start_nbdramd --both "${also[@]}" -m 256M -o workers=4 -e disk,size=64M,default -e other,size=1M
outside_uri=
if [ "$outside" ]; then
	outside_uri=nbd://$(sed -n "s/.*listening to \($outside:[0-9]*\)$/\1/p" "$log")
fi
peer "$(scaled 400 40)" "$outside_uri" <<'END' || fail "sessions"
import threading
U1 = "00112233-4455-6677-8899-aabbccddeeff"
U2 = "00112233-4455-6677-8899-AABBCCDDEEFE"
def name(uuid, epoch, disk="disk"):
    return "%s;s=%s.%d" % (disk, uuid, epoch)
def enter(uuid, epoch, disk="disk", **more):
    p = Peer(**more).hello().go(name(uuid, epoch, disk), (0, 1, 2, 3))
    if disk:
        assert p.info[INFO_NAME].decode() == disk
    return p
def alive(*peers):
    for p in peers:
        p.flush()
def gone(*peers):
    for p in peers:
        p.closed()
plain = Peer.open()
other = enter(U2, 1)
a, b = enter(U1, 5), enter(U1, 5)
alive(a, b)
# Lower ones are refused and may ask for something else; INFO changes nothing.
p = Peer().hello()
e = refused("ERR_POLICY", p.go, name(U1, 4))
assert "epoch" in e.text
p.ask_info(name(U1, 99))
p.ask_info(name(U1, 0))
refused("ERR_POLICY", p.go, name(U1, 4))
alive(a, b)
p.go(name(U1, 5))
alive(a, b, p)
c = enter(U1, 6)
gone(a, b, p)
alive(c, plain, other)
# By the default's empty name too, and EXPORT_NAME; on another disk as well.
d = enter(U1, 7, "")
gone(c)
with Peer().hello() as p:
    p.export_name(name(U1, 8))
    gone(d)
    alive(p)
enter(U1, 2**64 - 1).close()
refused("ERR_POLICY", enter, U1, 9)
alive(plain, other)

# Somebody else, who has another address, can neither join nor end it.
for epoch in (0, 1, 2, 77) if args[1] else ():
    refused("ERR_POLICY", enter, U2, epoch, uri=args[1])
alive(plain, other)

# By TCP on this host it is the same one as by the Unix socket.
again = enter(U2, 1, uri=tcp_uri)
alive(other, again)
other = enter(U2, 2, uri=tcp_uri)
gone(again)
again = enter(U2, 3)
gone(other)
other = again
alive(plain, other)

# What is no session: refused, and in step.
with Peer().hello() as p:
    for bad in ("disk;", "disk;s=", "disk;s=%s" % U1, "disk;s=%s." % U1,
                "disk;s=%s.-1" % U1, "disk;s=%s.1x" % U1, "disk;t=%s.1" % U1,
                "disk;s=%s.18446744073709551616" % U1,
                "disk;s=%s.1;s=%s.1" % (U1, U1), "disk;s=0.1", ";",
                "disk;s=%s.1" % U1.replace("-", "")):
        refused(("ERR_INVALID", "ERR_UNKNOWN"), p.go, bad)
    refused("ERR_UNKNOWN", p.go, name(U2, 2, "none"))
    p.go(name(U2, 3))
alive(other)

# A device that comes back again and again while its old connections are in the
# middle of writes: what an old one sends after the new one was let in never
# lands on newer data.
U = "ffffffff-0000-0000-0000-00000000000%d"
def device(k, failed):
    try:
        old = []
        for epoch in range(1, int(args[0])):
            where = tcp_uri if k % 2 else uri
            old_writes = []
            for p in old:
                # Half of a write, the rest of which comes later; whole ones.
                m = p.prepare(WRITE, k * 8 * MIB, payload=b"o" * MIB)
                try:
                    p.s.settimeout(.5)
                    p.send(m[:MIB // 2])
                except OSError:
                    pass
                old_writes.append((p, m[MIB // 2:]))
            new = [enter(U % k, epoch, uri=where)]
            new.append(enter(U % k, epoch, uri=where))
            data = struct.pack(">I", epoch) * (MIB // 4)
            new[0].write(k * 8 * MIB, data)
            for p, rest in old_writes:
                try:
                    p.send(rest)
                except OSError:
                    pass
            for p in old:
                p.close()
            assert new[1].read(k * 8 * MIB, MIB) == data, epoch
            old = new
    except BaseException as e:
        failed.append(e)
        raise
failed = []
threads = [threading.Thread(target=device, args=(k, failed)) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not failed
alive(plain, other)
END
# Ended in the middle of many that come back.
peer "$tmp/there" <<'END' &
import threading
U = "eeeeeeee-0000-0000-0000-0000000000%02d"
def device(k):
    try:
        for epoch in range(1, 10**6):
            p = Peer(tcp_uri if k % 2 else None).hello().go(
                "disk;s=" + U % k + ".%d" % epoch)
            if epoch == 10:
                open(args[0], "a").write("x")
    except (OSError, Closed, Refused, WireError):
        pass
threads = [threading.Thread(target=device, args=(k,)) for k in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
END
client=$!
_there() { [ "$(stat -c %s "$tmp/there" 2>/dev/null)" = 8 ]; }
wait_for 60 _there || fail "the clients do not start"
stop_nbdramd
wait "$client" || fail "the clients"
