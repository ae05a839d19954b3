#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# [export X] clone = Y: at the start and by a reload, whatever stands first in the
# file, of a snapshot, larger; a disk that is there stays as it is, and its parent
# may be gone.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
conf=$tmp/conf
cat >"$conf" <<END
[pool]
path = $pool
size = 64M

[export c]
clone = b
quota = 8M

[export b]
clone = a
size = 32M

[export a]
size = 16M
END
"$nbdramd" -t -c "$conf" || fail "clones before what they are made of"
start_nbdramd -c "$conf"
peer "$conf" <<'END' || fail "clones of the configuration"
conf, = args
def sections(text):
    with open(conf) as f:
        head = f.read().split("[export", 1)[0]
    with open(conf, "w") as f:
        f.write(head + text)

def tree(name=None):
    """[(depth, name)] of the lineage."""
    return [(d["depth"], d["name"]) for d in
            ask("show", **({"name": name} if name else {}))["lineage"]]

d = disks()
assert [d[n]["size"] for n in "abc"] == [16 * MIB, 32 * MIB, 32 * MIB], d
assert tree("c") == tree() == [(0, "a"), (1, "b"), (2, "c")]
with Peer.open(name="a") as p:
    p.write(0, b"a" * MIB)
with Peer.open(name="b") as p:
    assert p.read(0, MIB) == bytes(MIB)
ctl("snapshot", "a", "kept")

# New ones: of what has data now, of a snapshot, of one made by the same reload.
sections("""[export e]
clone = d
[export d]
clone = a
size = 64M
[export f]
clone = kept
readonly = yes
[export b]
clone = f
[export c]
clone = gone by now
""")
text = ctl("reload")
assert "export d: a new disk of 67108864 bytes" in text, text
assert "export b: was there before, and stays as it is: no clone of f" in text
for name in "def":
    with Peer.open(name=name) as p:
        assert p.read(0, MIB) == b"a" * MIB
        assert bool(p.flags & F_READ_ONLY) == (name == "f")
with Peer.open(name="d") as p:
    p.write(32 * MIB, b"d")
assert ask("show", name="e")["disk"]["parent-name"] == "d"
assert tree("e") == [(0, "a"), (1, "b"), (2, "c"), (1, "kept"), (2, "f"),
                     (1, "d"), (2, "e")], tree("e")

# Its own word for a disk that was made by command.
ctl("create", "g", "clone=d", "quota=3M")
assert ctl("show", "--config", "g") == \
    "[export g]\nsize = 64M\nclone = d\nquota = 3M\n"
assert ctl("show", "--config", "e") == \
    "[export e]\nsize = 64M\nclone = d\n"
ctl("create", "h", "clone=g", "size=128M")
assert disks()["h"]["size"] == 128 * MIB
assert "only be larger" in ctl("create", "i", "clone=d", "size=32M", status=1)
assert "of which disk stands before" in ctl("clone", "d", "i", "clone=a",
                                            status=2)
assert "of which disk stands before" in ctl("snapshot", "d", "i", "clone=a",
                                            status=2)
assert "clone of itself" in ctl("create", "i", "clone=i", status=2)
assert "no such disk" in ctl("create", "i", "clone=j", status=1)
assert "already" in ctl("create", "h", "clone=a", status=1)
assert "i" not in disks()

# Nothing is left of what fails.
before = sorted(disks())
def wrong(pattern, text):
    sections(text)
    said = ask_reload()
    assert re.search(pattern, said), said
    assert sorted(disks()) == before

def ask_reload():
    try:
        ask("reload")
    except Failed as failed:
        assert failed.code == "config", failed
        return failed.text
    raise AssertionError("the reload was done")

wrong("export new: clone = none: there is no such disk, in the pool or in the "
      "configuration", "[export x]\nsize=1M\n[export new]\nclone = none\n")
wrong("export none2: there is no such disk yet",
      "[export new]\nclone = none2\n[export none2]\n")
wrong("data behind", "[export new]\nclone = d\nsize = 32M\n"
      "[export new2]\nclone = new\n")
wrong("guarantee", "[export new]\nclone = d\nguarantee = 1G\n")

# Parents go before their clones.
for name in ("a", "kept", "d"):
    sections("".join("[export %s]\nclone = a\n" % n for n in "bcef"))
    ctl("reload") if name == "a" else None
    ctl("delete", name)
assert tree("e") == [(0, "b"), (1, "c"), (0, "f"), (0, "e"), (0, "g"),
                     (1, "h")] or sorted(tree("e")) == sorted(
    [(0, "b"), (1, "c"), (0, "f"), (0, "e"), (0, "g"), (1, "h")]), tree("e")
gone = [d for d in ask("show", name="e")["lineage"] if d["parent-gone"]]
assert sorted(d["name"] for d in gone) == ["b", "e", "f", "g"]
with Peer.open(name="e") as p:
    assert p.read(0, MIB) == b"a" * MIB
assert "clone of what is gone" in ctl("show", "e")
ctl("check")
END
stop_nbdramd

# Again, with what the file says by now: disks are there, parents are not.
start_nbdramd -c "$conf"
peer <<'END' || fail "started again"
assert {"b", "c", "e", "f", "g", "h"} == set(disks())
with Peer.open(name="f") as p:
    assert p.read(0, MIB) == b"a" * MIB
END
stop_nbdramd
