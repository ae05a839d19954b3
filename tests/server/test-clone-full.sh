#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The pool gets full in the middle of clones and snapshots: what is refused leaves
# nothing behind, what is there stays as it is, and when a snapshot goes there is
# room again.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 5M -o "full=wait 300ms" -e gold,size=64M
peer "$(scaled 400 30)" <<'END' || fail "a full pool"
rounds = int(args[0])
random_ = random.Random(int(os.environ["NBDRAM_TEST_SEED"]))
model = {}     # name -> {block: what lies there}

def write(name, times):
    """False: there is no memory for it."""
    with Peer.open("structured", name=name) as p:
        for i in range(times):
            b, n = random_.randrange(512), random_.randrange(1, 96)
            n = min(n, 512 - b)
            data = random_.randbytes(16)
            try:
                p.write(b * 4096, data * 256 * n)
            except Refused as e:
                assert e.name == "ENOSPC", e
                # Some blocks are new, and each is as a whole.
                for i in range(b, b + n):
                    is_ = p.read(i * 4096, 4096)
                    old = model[name].get(i, bytes(16))
                    assert is_ in (old * 256, data * 256), (name, i)
                    if is_ == data * 256:
                        model[name][i] = data
                return False
            for i in range(b, b + n):
                model[name][i] = data
    return True

def check(name):
    with Peer.open("structured", name=name) as p:
        for b in range(0, 1024, 128):
            data = p.read(b * 4096, 128 * 4096)
            for i in range(128):
                want = model[name].get(b + i, bytes(16))
                assert data[i * 4096:(i + 1) * 4096] == want * 256, \
                    (name, b + i)

model["gold"] = {}
refused_writes = refused_copies = 0
for r in range(rounds):
    name = random_.choice(sorted(model))
    if not disks()[name]["snapshot"] and not write(name, 4):
        refused_writes += 1
    source, to = random_.choice(sorted(model)), "d%d" % r
    if disks()[source]["snapshot"] or random_.random() < .5:
        words = dict(command="clone", **{"from": source, "to": to})
    else:
        words = dict(command="snapshot", name=source, **{"as": to})
    try:
        ask(**words)
        model[to] = dict(model[source])
    except Failed as failed:
        assert failed.code == "no-space", failed
        assert to not in disks()
        refused_copies += 1
    if r % 5 == 4 and len(model) > 4:
        for name in random_.sample(sorted(set(model) - {"gold"}), 3):
            ask("delete", name=name, force=True)
            del model[name]
    assert set(disks()) == set(model)
    check(random_.choice(sorted(model)))
for name in model:
    check(name)
# To the last block, by clones alone.
n = 0
try:
    while True:
        ask("clone", **{"from": "gold", "to": "c%d" % n})
        with Peer.open("simple", name="c%d" % n) as p:
            p.write(0, b"%08d" % n * 2048)
        n += 1
except Refused as e:
    assert e.name == "ENOSPC", e
    n += 1
except Failed as failed:
    assert failed.code == "no-space", failed
for i in range(n):
    ask("delete", name="c%d" % i, force=True)
for name in sorted(set(model) - {"gold"}):
    ask("delete", name=name, force=True)
assert eventually(10, lambda: ask("show")["pool"]["held"] < 5 * MIB // 2)
assert write("gold", 4)
check("gold")
print("%d writes and %d copies were refused, %d more clones fitted in"
      % (refused_writes, refused_copies, n))
ask("check")
END
stop_nbdramd
