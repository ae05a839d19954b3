#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# reset: a disk becomes what it was made of, as that is now, or empty; not while it is
# open for writing, unless --force. Its memory comes back, and kill -9 keeps it.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
conf=$tmp/conf
cat >"$conf" <<END
[pool]
size = 128M
path = $pool
[export gold]
size = 16M
[export plain]
size = 8M
[template host-*]
clone = gold
size = 20M
END
start_nbdramd -c "$conf"
peer <<'END' || fail "reset"
def write(name, *pieces):
    p = Peer.open(name=name)
    for off, data in pieces:
        p.write(off, data)
    p.disc()
    assert p.closed()
def read(name, off, n):
    with Peer.open(name=name) as p:
        return p.read(off, n)
show = lambda name: ask("show", name=name)["disk"]
write("gold", (0, pattern(1, MIB)))
ctl("clone", "gold", "copy")
write("host-1", (0, b"h" * 8192), (18 * MIB, b"end" * 1000))
write("copy", (0, pattern(2, 8 * MIB)))
write("plain", (0, pattern(3, 4 * MIB)))
write("gold", (0, b"new gold" * 512))
want = (b"new gold" * 512 + pattern(1, MIB)[4096:])

before = show("copy")
assert before["own"] >= 8 * MIB
ctl("reset", "copy")
after = show("copy")
assert read("copy", 0, MIB) == want and read("copy", 7 * MIB, MIB) == bytes(MIB)
assert after["generation"] == before["generation"] + 1
assert after["uuid"] == before["uuid"] and after["size"] == before["size"]
assert after["parent-name"] == "gold" and after["own"] < MIB
# What is written to either from now on the other does not see.
write("copy", (0, b"c" * 4096))
assert read("gold", 0, MIB) == want

ctl("reset", "host-1")
assert read("host-1", 0, MIB) == want and show("host-1")["size"] == 20 * MIB
assert read("host-1", 18 * MIB, MIB) == bytes(MIB)
assert show("host-1")["template"] == "host-*"

ctl("reset", "plain")
assert read("plain", 0, 8 * MIB) == bytes(8 * MIB) and show("plain")["held"] < MIB
# A copy that has grown stays so; one whose source has grown follows.
ctl("resize", "copy", "32M")
ctl("reset", "copy")
assert show("copy")["size"] == 32 * MIB and read("copy", 0, MIB) == want
ctl("clone", "gold", "small")
ctl("resize", "gold", "24M")
write("gold", (23 * MIB, b"g" * 4096))
ctl("reset", "small")
assert show("small")["size"] == 24 * MIB
assert read("small", 23 * MIB, 4096) == b"g" * 4096

# Who writes is in the way; who reads is not.
p = Peer.open(name="plain")
p.write(0, b"w" * 4096)
assert "for writing" in ctl("reset", "plain", status=1)
fails("in-use", "reset", name="plain")
assert p.read(0, 4096) == b"w" * 4096
ctl("reset", "--force", "plain")
assert p.closed()
assert read("plain", 0, 4096) == bytes(4096)
ctl("create", "ro", "size=1M", "readonly=yes")
r = Peer.open(name="ro")
ctl("reset", "ro")
assert r.read(0, 4096) == bytes(4096)

# What cannot be.
ctl("snapshot", "gold", "snap")
assert "never changes" in fails("read-only", "reset", name="snap")
fails("not-found", "reset", name="gone")
fails("usage", "reset")
ctl("clone", "small", "orphan")
write("orphan", (0, b"o" * 4096))
ctl("delete", "small")
assert "not there any more" in fails("not-found", "reset", name="orphan")
assert read("orphan", 0, 4096) == b"o" * 4096
# A fixed one keeps its guarantee.
ctl("create", "fixed", "size=4M", "alloc=fixed")
write("fixed", (0, pattern(9, 4 * MIB)))
ctl("reset", "fixed")
d = show("fixed")
assert d["alloc"] == "fixed" and d["guarantee"] >= 4 * MIB, d
write("fixed", (0, pattern(10, 4 * MIB)))
assert "reset" not in "".join(disks())
ask("check")
END
kill_nbdramd
sed -i "s/^size = 16M/size = 24M/" "$conf"
start_nbdramd -c "$conf"
peer <<'END' || fail "after kill -9"
assert Peer.open(name="copy").read(0, 8) == b"new gold"
assert Peer.open(name="plain").read(0, 4096) == bytes(4096)
assert not [n for n in disks() if "renew" in n], disks()
ask("check")
END
stop_nbdramd
