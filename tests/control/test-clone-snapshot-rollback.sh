#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clone, snapshot, rollback: contents at one moment, apart from then on; rollback
# not while the disk is open for writing, unless --force.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 256M -e gold,size=64M -e other,size=1M
peer <<'END' || fail "clone, snapshot, rollback"
p = Peer.open(name="gold")
old = pattern(3, MIB)
p.write(0, old)
snap = ctl("snapshot", "gold").strip()
assert re.fullmatch(r"gold@\d{8}T\d{6}(-\d+)?", snap), snap
again = ask("snapshot", name="gold")["name"]
third = ask("snapshot", name="gold")["name"]
assert len({snap, again, third}) == 3
ctl("clone", "gold", "copy", "quota=8M")
ctl("snapshot", "gold", "named one")
new = pattern(4, MIB)
p.write(0, new)

c = Peer.open(name="copy")
assert c.read(0, MIB) == old and not c.flags & F_READ_ONLY
c.write(MIB, new)
s = Peer.open(name=snap)
assert s.read(0, MIB) == old and s.flags & F_READ_ONLY
assert p.read(0, MIB) == new
d = disks()
assert d[snap]["snapshot"] and d[snap]["state"] == "snapshot"
assert not d["copy"]["snapshot"]
info = ask("show", name="copy")["disk"]
assert info["parent-name"] == "gold" and info["quota"] == 8 * MIB
assert info["shared"] >= MIB and MIB <= info["own"] < 2 * MIB
fails("exists", "clone", **{"from": "gold", "to": "copy"})
fails("not-found", "clone", **{"from": "gone", "to": "x"})
assert "resize" in fails("usage", "clone", **{"from": "gold", "to": "x",
                                              "keys": ["size=1G"]})
fails("exists", "snapshot", name="gold", **{"as": snap})
fails("not-found", "snapshot", name="gone")
fails("usage", "clone", **{"from": "gold"})

# Rollback.
assert "for writing" in ctl("rollback", "gold", snap, status=1)
assert p.read(0, MIB) == new
p.disc()
assert eventually(10, lambda: disks()["gold"]["clients"] == 0)
generation = ask("show", name="gold")["disk"]["generation"]
ctl("rollback", "gold", snap)
p = Peer.open(name="gold")
assert p.read(0, MIB) == old
assert ask("show", name="gold")["disk"]["generation"] == generation + 1
p.write(0, new)
ctl("rollback", "--force", "gold", "named one")
assert p.closed()
assert Peer.open(name="gold").read(0, MIB) == old
# The snapshot has not changed, nor has who has it open noticed.
assert s.read(0, MIB) == old and c.read(MIB, MIB) == new
fails("not-found", "rollback", name="gold", snapshot="gone")
fails("not-found", "rollback", name="gone", snapshot=snap)
assert "no snapshot" in fails("usage", "rollback", name="gold", snapshot="copy",
                              force=True)
assert "no snapshot of" in fails("usage", "rollback", name="other",
                                 snapshot=snap)
fails("read-only", "rollback", name=snap, snapshot=again)

# A snapshot may be taken away before what was made of it.
ctl("delete", "--force", snap)
assert Peer.open(name="gold").read(0, MIB) == old
ctl("check")
END
stop_nbdramd
