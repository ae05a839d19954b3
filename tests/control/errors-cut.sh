#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No disk gets smaller under clients that have it open: not by a reload, not by
# resize, not by rollback; with --force they are disconnected first.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cat >"$tmp/conf" <<END
[pool]
size = 256M
[export a]
size = 64M
END
start_nbdramd -c "$tmp/conf"
peer "$tmp/conf" <<'END' || fail "cut"
def configure(size):
    with open(args[0], "w") as f:
        f.write("[pool]\nsize = 256M\n[export a]\nsize = %s\n" % size)

size = lambda: disks()["a"]["size"] // MIB
free = lambda: eventually(10, lambda: disks()["a"]["clients"] == 0)

p, q = Peer.open(name="a"), Peer.open(name="a")
configure("32M")
text = fails("config", "reload")
assert "conf:3: export a: " in text and "2 clients have it open" in text, text
assert size() == 64
p.write(40 * MIB, b"x" * 4096)
p.trim(40 * MIB, MIB)
assert "2 clients" in fails("in-use", "resize", name="a", size="32M")
assert size() == 64

# Larger by command; the file says less than clients know of.
configure("64M")
ctl("resize", "a", "128M")
r = Peer.open(name="a")
assert r.size == 128 * MIB
assert "3 clients" in fails("config", "reload")
assert size() == 128
for peer in p, q, r:
    peer.disc()
assert free()
ask("reload")
assert size() == 64

# A smaller snapshot: who only reads is in the way too.
ask("snapshot", name="a", **{"as": "s"})
configure("128M\nreadonly = yes")
ask("reload")
p = Peer.open(name="a")
assert p.size == 128 * MIB
assert "1 client has" in fails("in-use", "rollback", name="a", snapshot="s")
assert size() == 128
assert "conf:3 says size = 134217728: change it" in ctl("rollback", "--force", "a", "s")
assert p.closed() and size() == 64

# They are disconnected.
p = Peer.open(name="a")
ctl("resize", "a", "32M", "--force")
assert p.closed() and size() == 32
assert Peer.open(name="a").size == 32 * MIB
END
stop_nbdramd
