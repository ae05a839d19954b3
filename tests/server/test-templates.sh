#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Templates: opening a name that one takes makes its disk, empty or a clone, as its
# keys say; INFO tells of it and makes nothing, nor does LIST; other names are not
# there.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

conf=$tmp/conf
cat >"$conf" <<'END'
[pool]
size = 128M
[export golden]
size = 4M
[template empty-*]
size = 3M
quota = 2M
guarantee = 1M
max-connections = 2
detect-zeroes = yes
[template copy-*]
clone = golden
size = 6M
[template ro-*]
clone = golden
readonly = yes
[template fixed-*-end]
size = 1M
alloc = fixed
[template one]
size = 1M
[template tmp-*]
size = from-name
max-size = 8M
[template few-*]
size = 1M
max-disks = 3
max-per-identity = 2
[template lost-*]
clone = nothing
[template huge-*]
size = 1G
alloc = fixed
END
start_nbdramd --both -c "$conf"
peer <<'END' || fail "templates"
golden = Peer.open(name="golden")
golden.write(0, pattern(1, MIB))
before = set(disks())
assert before == {"golden"}, before

p = Peer().hello().negotiate("structured")
assert p.list() and {n for n, d in p.list()} == {"golden"}
# INFO, and contexts, tell and make nothing.
assert p.ask_info("empty-1").size == 3 * MIB
assert p.ask_info("copy-1").size == 6 * MIB
assert p.ask_info("ro-1").flags & F_READ_ONLY
assert p.ask_info("ro-1").size == 4 * MIB
p.ask_info("tmp-1@5M", infos=(INFO_NAME,))
assert p.size == 5 * MIB and p.info[INFO_NAME] == b"tmp-1", p.info
assert "base:allocation" in p.meta("base:allocation", name="empty-1")
assert not p.meta("qemu:dirty-bitmap:", name="empty-1", option=OPT_LIST_META_CONTEXT)
assert set(disks()) == before
# What no template takes.
for name in ("empty-", "empty", "Empty-1", "xempty-1", "fixed--end", "fixed-1",
             "one1", "", "no", "e" * 256, "empty-" + "x" * 250, "copy-\x01",
             "copy-1\n", "*", "golden2"):
    refused("ERR_UNKNOWN", p.ask_info, name)
    refused("ERR_UNKNOWN", p.go, name)
assert set(disks()) == before

# Made, and with all that its template says.
e = p.go("empty-1")
assert e.size == 3 * MIB and not e.flags & F_READ_ONLY
assert e.read(0, 3 * MIB) == bytes(3 * MIB)
d = ask("show", name="empty-1")["disk"]
assert d["quota"] == 2 * MIB and d["guarantee"] == MIB, d
assert d["max-connections"] == 2 and d["detect-zeroes"], d
assert d["template"] == "empty-*" and d["made"] == "template", d
assert d["owner"] == "uid:%d" % os.getuid(), d
e.write(0, pattern(2, MIB))
# The same disk for the next connection, no more than two.
e2 = Peer.open(name="empty-1")
assert e2.read(0, MIB) == pattern(2, MIB)
refused("ERR_POLICY", Peer.open, name="empty-1")

c = Peer.open(name="copy-x y\u00e4")
assert c.size == 6 * MIB and c.read(0, MIB) == pattern(1, MIB)
assert c.read(MIB, 5 * MIB) == bytes(5 * MIB)
c.write(0, b"mine" * 1024)
golden.write(4096, b"more" * 1024)
assert golden.read(0, 4096) == pattern(1, MIB)[:4096]
assert c.read(4096, 4096) == pattern(1, MIB)[4096:8192]
assert Peer.open(name="copy-2").read(4096, 4096) == b"more" * 1024

r = Peer.open(name="ro-1")
assert r.flags & F_READ_ONLY
refused("EPERM", r.write, 0, bytes(512))
assert ask("show", name="ro-1")["disk"]["readonly"]

f = Peer.open(name="fixed-1-end")
d = ask("show", name="fixed-1-end")["disk"]
assert d["alloc"] == "fixed", d
assert Peer.open(name="one").size == MIB
assert Peer().hello().export_name("empty-by-name").size == 3 * MIB

# How large the client says.
t = Peer().hello()
for name in ("tmp-1", "tmp-1@", "tmp-1@0", "tmp-1@x", "tmp-1@-1"):
    assert "how large" in refused("ERR_POLICY", t.go, name).text
assert "max-size" in refused("ERR_POLICY", t.go, "tmp-1@9M").text
refused("ERR_POLICY", t.go, "tmp-1@8388609")
refused("ERR_UNKNOWN", t.go, "@8M")
refused("ERR_UNKNOWN", t.go, "tmp-@8M")
# It would be the name that asks for tmp-7 with 2M later.
refused("ERR_UNKNOWN", t.go, "tmp-7@2M@4M")
assert t.go("tmp-1@8388608", infos=(INFO_NAME,)).size == 8 * MIB
assert t.info[INFO_NAME] == b"tmp-1"
t.write(0, b"t" * 4096)
# Then it is called so, and is as large as it is.
assert "tmp-1" in disks() and "tmp-1@8388608" not in disks()
for name in ("tmp-1", "tmp-1@1M", "tmp-1@8M"):
    q = Peer.open(name=name)
    assert q.size == 8 * MIB and q.read(0, 4096) == b"t" * 4096, name
assert Peer.open(name="tmp-a@b@1M").size == MIB and "tmp-a@b" in disks()
bits = Peer().hello().negotiate("structured")
bits.meta("base:allocation", name="tmp-bits@1M")
assert bits.go("tmp-bits@1M").status(0, MIB) == [(MIB, 3)]

# Ceilings: of one client here; what is there stays open.
few = [Peer.open(name="few-%d" % i) for i in range(2)]
q = Peer().hello()
assert "max-per-identity = 2" in refused("ERR_POLICY", q.go, "few-2").text
assert Peer.open(name="few-1").size == MIB
# Another identity: of the host by TCP.
other = Peer(tcp_uri).hello().go("few-2")
assert "max-disks = 3" in refused("ERR_POLICY", Peer(tcp_uri).hello().go, "few-3").text
refused("ERR_UNKNOWN", Peer(tcp_uri).hello().go, "few-1")
refused("ERR_UNKNOWN", Peer(tcp_uri).hello().ask_info, "few-1")
refused("ERR_UNKNOWN", Peer(tcp_uri).hello().go, "empty-1")
assert {n for n, d in Peer(tcp_uri).hello().list()} == {"golden", "few-2"}
few[0].close()
ctl("delete", "few-0", "--force")
assert eventually(30, lambda: "few-0" not in disks())
assert Peer.open(name="few-2b").size == MIB

# What cannot be made is told, and nothing is left of it.
q = Peer().hello()
refused("ERR_POLICY", q.go, "lost-1")
assert "memory" in refused("ERR_POLICY", q.go, "huge-1").text
assert "lost-1" not in disks() and "huge-1" not in disks()
assert q.go("golden").size == 4 * MIB

# As people see it, and as a configuration.
lines = ctl("list").splitlines()
assert lines[0].split()[-2:] == ["TEMPLATE", "OWNER"], lines[0]
assert any(l.split()[0] == "few-1" and l.split()[-2:] ==
           ["few-*", "uid:%d" % os.getuid()] for l in lines), lines
assert "# [export one]" in ctl("show", "one", "--config")
ask("check")
END
grep -q 'clone = nothing: there is no such disk' "$log" || fail "the log does not say why"
stop_nbdramd
