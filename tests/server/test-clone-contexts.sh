#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# qemu:dirty-bitmap:SNAPSHOT tells exactly which blocks differ, of a disk, of a
# snapshot and of a clone, in both directions, trimmed ones too; qemu:allocation-
# depth what is shared. Listed and selected as qemu does; only within a lineage; a
# snapshot that is compared with is held.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 256M -e gold,size=4G,default -e other,size=1M
peer <<'END' || fail "contexts of clones and snapshots"
BASE, DEPTH = "base:allocation", "qemu:allocation-depth"
BITMAP = "qemu:dirty-bitmap:"
BLOCKS = 2048
random_ = random.Random(int(os.environ["NBDRAM_TEST_SEED"]))

# Disks and a model of each: block -> what lies there.
model = {"gold": {}}

def change(name, times):
    with Peer.open(name=name) as p:
        for i in range(times):
            at, n = random_.randrange(BLOCKS), random_.randrange(1, 20)
            n = min(n, BLOCKS - at)
            if random_.random() < 0.3:
                p.trim(at * 4096, n * 4096)
                for b in range(at, at + n):
                    model[name].pop(b, None)
            else:
                data = random_.randbytes(16)
                p.write(at * 4096, data * (256 * n))
                for b in range(at, at + n):
                    model[name][b] = data, random_.random()

def take(name, to, snapshot):
    if snapshot:
        ask("snapshot", name=name, **{"as": to})
    else:
        ask("clone", **{"from": name, "to": to})
    model[to] = dict(model[name])

def map(p, context, end=BLOCKS * 4096):
    """A value for each block."""
    values, at = [], 0
    while at < end:
        for n, value in p.status(at, end - at, context=context):
            n = min(n, end - at)
            assert n % 4096 == 0
            values += [value] * (n // 4096)
            at += n
    return values

ask("snapshot", name="other", **{"as": "other one"})
change("gold", 200)
take("gold", "first", True)
change("gold", 40)
take("gold", "second", True)
take("gold", "copy", False)
change("gold", 40)
change("copy", 40)
take("copy", "copy's", True)
change("copy", 40)
snapshots = ["first", "second", "copy's"]

with Peer().hello() as p:
    p.structured()
    ask_ = lambda *q, name="gold": sorted(p.meta(
        *q, name=name, option=OPT_LIST_META_CONTEXT))
    all = sorted([BASE, DEPTH] + [BITMAP + s for s in snapshots])
    assert ask_() == all and ask_(name="") == all
    assert ask_("qemu:") == all[1:] and ask_("base:") == [BASE]
    assert ask_(BITMAP) == all[2:]
    assert ask_(BITMAP, name="first") == [c for c in all[2:]
                                          if c != BITMAP + "first"]
    assert ask_(BITMAP + "first", BITMAP + "other one", BITMAP + "gold",
                BITMAP + "copy", BITMAP + "none", BITMAP + "firs") == \
        [BITMAP + "first"]
    assert ask_(BITMAP, name="other") == [BITMAP + "other one"]
    select = lambda *q: sorted(p.meta(*q, name="gold"))
    assert select(BITMAP, "qemu:", BITMAP + "other one") == []
    assert select(BITMAP + "first", BASE, BITMAP + "first",
                  BITMAP + "none") == [BASE, BITMAP + "first"]
    # The last choice counts; a list is none.
    assert select(BITMAP + "second", DEPTH) == [DEPTH, BITMAP + "second"]
    chosen = dict(p.contexts)
    ask_(BITMAP + "first")
    p.contexts = chosen
    p.go("gold")
    assert map(p, BITMAP + "second") == [
        int(model["gold"].get(b) != model["second"].get(b))
        for b in range(BLOCKS)]

# Each against each snapshot, all contexts at once.
for name in model:
    for kind in ("structured", "extended"):
        bases = [s for s in snapshots if s != name]
        with Peer.open(kind, name=name, contexts=[BASE, DEPTH] +
                       [BITMAP + s for s in bases]) as p:
            assert len(p.contexts) == 2 + len(bases)
            for s in bases:
                want = [int(model[name].get(b) != model[s].get(b))
                        for b in range(BLOCKS)]
                assert map(p, BITMAP + s) == want, (name, s)
                # Equal tables are not looked into.
                assert p.status(2**30, 2**31, context=BITMAP + s) == \
                    [(2**31, 0)]
            depth = map(p, DEPTH)
            for b in range(BLOCKS):
                here = model[name].get(b)
                shared = here and any(model[o].get(b) == here for o in model
                                      if o != name)
                assert depth[b] == (2 if shared else 1 if here else 0), \
                    (name, b, depth[b])

# A snapshot that is deleted is there for who compares with it, also if another
# gets its name; what it alone held comes back with the last of them.
first = model["first"]
with Peer.open(name="gold", contexts=[BITMAP + "first"]) as p:
    before = map(p, BITMAP + "first")
    ctl("delete", "first")
    take("gold", "first", True)
    assert map(p, BITMAP + "first") == before
    with Peer.open(name="gold", contexts=[BITMAP + "first"]) as q:
        assert set(map(q, BITMAP + "first")) == {0}
    held = ask("stats")["pool"]["held"]
assert eventually(10, lambda: ask("stats")["pool"]["held"] < held)
# One that was chosen and is gone before the disk is opened.
with Peer().hello() as p:
    p.structured()
    p.meta(BITMAP + "second", name="gold")
    ctl("delete", "second")
    p.go("gold")
    assert map(p, BITMAP + "second") == [
        int(model["gold"].get(b) != model["second"].get(b))
        for b in range(BLOCKS)]
    # Nine are one too many.
for i in range(9):
    ask("snapshot", name="gold", **{"as": "s%d" % i})
with Peer().hello() as p:
    p.structured()
    refused("ERR_TOO_BIG", p.meta, *[BITMAP + "s%d" % i for i in range(9)],
            name="gold")
    assert len(p.meta(*[BITMAP + "s%d" % i for i in range(8)],
                      name="gold")) == 8
    p.go("gold")
    assert map(p, BITMAP + "s7") == [0] * BLOCKS

# The disk has another size by now.
ctl("resize", "copy", "8G")
with Peer.open("extended", name="copy", contexts=[BITMAP + "s0"]) as p:
    p.write(6 * 2**30, b"x")
    found, at = [], 4 * 2**30
    while at < 8 * 2**30:
        for n, value in p.status(at, 8 * 2**30 - at, context=BITMAP + "s0"):
            found += [(at, n)] if value else []
            at += n
    assert at == 8 * 2**30 and found == [(6 * 2**30, 4096)]
# Nobody compares with what he may not open; and who may not open a disk may not
# open what is made of it.
ctl("clone", "gold", "theirs", "allow=uid:4711")
ctl("snapshot", "theirs", "theirs now")
ctl("clone", "theirs now", "theirs too")
for name in ("theirs", "theirs now", "theirs too"):
    with Peer().hello() as p:
        refused("ERR_UNKNOWN", p.go, name)
with Peer().hello() as p:
    p.structured()
    assert p.meta(BITMAP + "theirs now", name="gold") == {}
    assert BITMAP + "theirs now" not in p.meta(
        name="gold", option=OPT_LIST_META_CONTEXT)

# More of them than are told at once.
for i in range(300):
    ask("snapshot", name="gold", **{"as": "%03d" % i + "x" * 200})
with Peer().hello() as p:
    p.structured()
    found = p.meta(BITMAP, name="gold", option=OPT_LIST_META_CONTEXT)
    assert len([c for c in found if c.endswith("xxx")]) == 300
    p.meta(BITMAP + "299" + "x" * 200, name="gold")
    p.go("gold")
    p.status(0, 4096, context=BITMAP + "299" + "x" * 200)
    # Deleted, it is there as long as somebody compares with it, which is said.
    assert "1 connection still compares" in ctl("delete", "299" + "x" * 200)
    p.status(0, 4096, context=BITMAP + "299" + "x" * 200)
    assert ctl("delete", "298" + "x" * 200) == ""
ctl("check")

# Snapshots that the client may not open are as if they were not there: listed,
# by name, and by the name of one that is not exported.
ask("snapshot", name="gold", **{"as": "closed"}, keys=["allow=uid:4711"])
ask("snapshot", name="gold", **{"as": "seen"})
ask("clone", **{"from": "gold", "to": "branch"}, keys=["allow=uid:4711"])
ask("snapshot", name="branch", **{"as": "branch closed"})
with Peer().hello() as p:
    p.structured()
    listed = p.meta(BITMAP, name="gold", option=OPT_LIST_META_CONTEXT)
    assert BITMAP + "seen" in listed
    assert not [c for c in listed if "closed" in c], listed
    for name in "closed", "branch closed", "none":
        assert not p.meta(BITMAP + name, name="gold",
                          option=OPT_LIST_META_CONTEXT), name
        assert not p.meta(BITMAP + name, name="gold"), name
END
stop_nbdramd
