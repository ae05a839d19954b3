#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check: the pool is found sound while clients write, clone and trim; it is told how
# far it is; temporary snapshots are gone afterwards.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 256M -e a,size=64M -e b,size=64M
peer "$(scaled 20 3)" <<'END' || fail "check"
import threading
stop = threading.Event()
def write(name, seed):
    p = Peer.open(name=name)
    r = random.Random(seed)
    while not stop.is_set():
        at = r.randrange(0, 32 * MIB, 512)
        p.write(at, bytes([r.randrange(256)]) * r.choice((512, 4096, 100000)))
        if r.randrange(10) == 0:
            p.trim(r.randrange(0, 32 * MIB), MIB)
def change():
    i = 0
    while not stop.is_set():
        ask("clone", **{"from": "a", "to": "c%d" % i})
        ask("snapshot", name="b", **{"as": "s%d" % i})
        ask("delete", name="c%d" % i)
        ask("delete", name="s%d" % i)
        i += 1
errors = []
def guarded(f, *args):
    try:
        f(*args)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=guarded, args=a)
           for a in ((write, "a", 1), (write, "b", 2), (change,))]
for t in threads:
    t.start()
until, n = time.monotonic() + float(args[0]), 0
with Control() as c:
    while time.monotonic() < until or n < 3:
        result = c.ask("check")
        assert result["disks"] >= 2, result
        n += 1
stop.set()
for t in threads:
    t.join()
assert not errors, errors
print("%d checks" % n)
assert set(disks()) == {"a", "b"}
assert ctl("check").startswith("sound: 2 disks and snapshots, ")
# Nothing of the checks is left in the pool.
held = sum(d["held"] for d in disks().values())
assert eventually(10, lambda: ask("show")["pool"]["held"] <= held + MIB), (
    held, ask("show")["pool"])
END
stop_nbdramd
