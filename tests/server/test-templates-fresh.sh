#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fresh = always: a new copy for each session; what of a session comes later or
# comes back, also after kill -9, finds it as it was.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
conf=$tmp/conf
cat >"$conf" <<END
[pool]
size = 64M
path = $pool
[export golden]
size = 1M
[template host-*]
clone = golden
size = 2M
fresh = always
[template small-*]
clone = golden
size = 1M
fresh = always
[template empty-*]
size = 1M
fresh = always
END
start_nbdramd -c "$conf"
cat >"$tmp/helpers.py" <<'END'
import uuid
def session(name, who, epoch):
    return Peer.open(name="%s;s=%s.%d" % (name, uuid.UUID(int=who), epoch),
                     contexts=())
def bye(*peers):
    for p in peers:
        p.disc()
        assert p.closed()
END
{
	cat "$tmp/helpers.py" - <<'END'
Peer.open(name="golden").write(0, b"g1" * 2048)
gen = lambda name: ask("show", name=name)["disk"]["generation"]
# Without sessions: new when nobody has it open.
for name, first in (("host-1", b"g1" * 2048), ("empty-1", bytes(4096))):
    a = Peer.open(name=name)
    assert a.size == (2 * MIB if name == "host-1" else MIB)
    assert a.read(0, 4096) == first
    a.write(0, b"w" * 4096)
    b = Peer.open(name=name)
    assert b.read(0, 4096) == b"w" * 4096
    before = gen(name)
    bye(a)
    c = Peer.open(name=name)
    assert c.read(0, 4096) == b"w" * 4096 and gen(name) == before
    bye(b, c)
    d = Peer.open(name=name)
    assert d.read(0, 4096) == first, name
    assert gen(name) > before
    bye(d)
# Two sessions at once, one of which comes back: one gets in.
import threading
def one(peers, which, epoch):
    try:
        peers.append((which, session("host-7", which, epoch)))
    except (Refused, Closed, WireError):
        pass
for i in range(100):
    old = [session("host-7", 2 * i + 100, 1) for _ in range(3)]
    new = []
    threads = [threading.Thread(target=one, args=(new, 2 * i + 100 + k, 2 - k))
               for k in (0, 1, 1, 1, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({which for which, _ in new}) <= 1, (i, new)
    for p in old + [p for _, p in new]:
        p.s.close()
    assert eventually(30, lambda: ask("show", name="host-7")["disk"]["clients"] == 0)
# INFO makes nothing anew.
a = Peer.open(name="host-1")
a.write(0, b"i" * 4096)
bye(a)
before = gen("host-1")
assert Peer().hello().ask_info("host-1").size == 2 * MIB
assert gen("host-1") == before
# Sessions: the same one comes back to what it had; another gets a new one.
a = session("host-2", 7, 1)
a.write(0, b"s7" * 2048)
a2 = session("host-2", 7, 1)
assert a2.read(0, 4096) == b"s7" * 2048
a3 = session("host-2", 7, 2)
assert a3.read(0, 4096) == b"s7" * 2048
assert a.closed() and a2.closed()
assert "another session" in refused("ERR_POLICY", session, "host-2", 8, 1).text
assert "another session" in refused("ERR_POLICY", Peer.open, name="host-2").text
bye(a3)
a = session("host-2", 7, 3)
assert a.read(0, 4096) == b"s7" * 2048
bye(a)
Peer.open(name="golden").write(0, b"g2" * 2048)
b = session("host-2", 8, 1)
assert b.read(0, 4096) == b"g2" * 2048
b.write(0, b"s8" * 2048)
ask("check")
END
} >"$tmp/program.py"
peer <"$tmp/program.py" || fail "fresh"
kill_nbdramd
start_nbdramd -c "$conf"
{
	cat "$tmp/helpers.py" - <<'END'
b = session("host-2", 8, 2)
assert b.read(0, 4096) == b"s8" * 2048
bye(b)
c = session("host-2", 9, 1)
assert c.read(0, 4096) == b"g2" * 2048
bye(c)
# What it is made of is gone: as it was, and told.
c = session("host-2", 9, 2)
c.write(0, b"s9" * 2048)
bye(c)
END
} >"$tmp/program.py"
peer <"$tmp/program.py" || fail "fresh after kill -9"
# The template is gone for a while: not one disk for two sessions, nor what one has
# left for another.
sed '/^.template/,$d' "$conf" >"$conf.without"
cp "$conf" "$conf.with"
{
	cat "$tmp/helpers.py" - <<'END'
import shutil
def reload_as(which):
    shutil.copy("%s.%s" % (args[0], which), args[0])
    ask("reload")
a = session("host-3", 17, 1)
a.write(0, b"s7" * 2048)
reload_as("without")
reload_as("with")
assert "another session" in refused("ERR_POLICY", session, "host-3", 18, 1).text
b = session("host-3", 17, 1)
assert a.read(0, 4096) == b.read(0, 4096) == b"s7" * 2048
bye(a, b)
reload_as("without")
reload_as("with")
a = session("host-3", 18, 1)
assert a.read(0, 4096) == b"g2" * 2048
bye(a)
# More than there is room for: not what was there before instead.
a = Peer.open(name="small-1")
a.write(0, b"s1" * 2048)
bye(a)
ask("resize", name="golden", size="2M")
Peer.open(name="golden").write(MIB, b"h" * 4096)
for which in (lambda: Peer.open(name="small-1"), lambda: session("small-1", 5, 1)):
    assert "cannot be made anew" in refused("ERR_POLICY", which).text
END
} >"$tmp/program.py"
peer "$conf" <"$tmp/program.py" || fail "fresh, and what is not there any more"
grep -q 'small-1: cannot be made anew: what it is made of has data behind its size' \
	"$log" || fail "the log does not say why"
stop_nbdramd
