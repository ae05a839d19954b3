#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# create and delete: a disk is there at once, and gone at once with its memory; not
# while somebody has it open, unless --force; not if the configuration has it.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 256M -e a,size=64M
peer <<'END' || fail "create and delete"
ctl("create", "new", "size=32M", "quota=16M", "max-connections=2")
p = Peer.open(name="new")
assert p.size == 32 * MIB
p.write(0, pattern(2, 8 * MIB))
d = ask("show", name="new")["disk"]
assert d["made"] == "command" and d["quota"] == 16 * MIB
assert d["max-connections"] == 2
assert ctl("show", "new", "--config") == \
    "[export new]\nsize = 32M\nquota = 16M\nmax-connections = 2\n"
ctl("create", "locked", "readonly=yes", "size=1M")
assert Peer.open(name="locked").flags & F_READ_ONLY

# What cannot be.
assert "already" in fails("exists", "create", name="new", keys=["size=1M"])
assert "already" in fails("exists", "create", name="a", keys=["size=1M"])
assert "size=16G" in fails("usage", "create", name="x")
for keys in (["size=0"], ["size=x"], ["size"], ["=1M"], ["size=1M", "size=2M"],
             ["sise=1M"], ["size=1M", "alloc=thick"], ["size=9E"], [""],
             ["size=1M\nquota=1M"], ["save=/etc/passwd", "size=1M"]):
    if keys == ["size=1M", "size=2M"]:
        continue
    text = fails("usage", "create", name="x", keys=keys)
    print(keys, text)
for name in ("", "n" * 256, "a;b"):
    print(fails("usage", "create", name=name, keys=["size=1M"]))
fails("usage", "create", name="x\\", keys=["size=1M"])
fails("usage", "create", name="x\\x00", keys=["size=1M"])
fails("usage", "create", keys=["size=1M"])
assert "pool" in fails("no-space", "create", name="x",
                       keys=["size=1G", "alloc=fixed"])
ctl("create", "default-one", "size=1M", "default=yes")
assert "default" in fails("exists", "create", name="x",
                          keys=["size=1M", "default=yes"])
assert "x" not in disks()
assert Peer.open(name="").size == MIB

# Deleting.
assert "configuration (-e a)" in ctl("delete", "a", status=1)
assert "1 client has it open" in ctl("delete", "new", status=1)
assert "--force" in fails("in-use", "delete", name="new")
p.read(0, 4096)
held = ask("show")["pool"]["held"]
assert held >= 8 * MIB
ctl("delete", "--force", "new")
assert p.closed()
assert "new" not in disks()
refused("ERR_UNKNOWN", Peer.open, name="new")
assert eventually(10, lambda: ask("show")["pool"]["held"] < held - 7 * MIB)
fails("not-found", "delete", name="new")
# The name is free.
ctl("create", "new", "size=1M")
assert Peer.open(name="new").read(0, 4096) == bytes(4096)
END
stop_nbdramd
