#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Disks that get all of their memory when they are made: how far it is is told, the
# log tells it at a start; what does not fit is refused before any is taken; who
# gives up gets it back; others do not wait meanwhile.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mib=$(scaled 8192 512)
start_nbdramd -o warm=0 -m $((mib + mib / 4 + 128))M -e a,size=64M
peer "$mib" <<'END' || fail "fixed disks"
mib = int(args[0])

def until(condition):
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < 60, ask("show")["pool"]
        time.sleep(0.02)

pool = lambda: ask("show")["pool"]
before = pool()["backing"]
assert "has not got the memory" in fails(
    "no-space", "create", name="large",
    keys=["size=%dM" % (mib * 2), "alloc=fixed"])
assert pool()["backing"] <= before + MIB, pool()

c = Control()
c.request("create", name="fixed", keys=["size=%dM" % mib, "alloc=fixed"])
told = []
started = time.monotonic()
while True:
    line = c.line()
    if "progress" in line:
        told.append(line["progress"])
        # A writer, and commands that are short.
        ask("clone", **{"from": "a", "to": "c%d" % len(told)})
        ask("delete", name="c%d" % len(told))
        continue
    assert line.get("ok"), line
    break
print("%d MiB in %.2f s; told %d times" % (
    mib, time.monotonic() - started, len(told)))
# Our own clones and it may have to wait for each other.
told = [t for t in told if not t["what"].startswith("waiting")]
for t, u in zip(told, told[1:]):
    assert t["done"] <= u["done"] <= u["all"], told
assert all("memory" in t["what"] for t in told), told
p = pool()
assert p["guaranteed"] >= mib * MIB and p["backing"] >= mib * MIB, p
ask("delete", name="fixed")

# Given up.
c = Control()
c.request("create", name="gone", keys=["size=%dM" % mib, "alloc=fixed"])
line = c.line() if mib > 2000 else None
c.s.close()
until(lambda: pool()["guaranteed"] == 0 or "gone" in disks())
if "gone" in disks():
    ask("delete", name="gone")
until(lambda: pool()["backing"] < 64 * MIB + pool()["landing"])
# Its name is free again.
ask("create", name="gone", keys=["size=1M"])
END
stop_nbdramd
start_nbdramd -m $((mib + mib / 4 + 128))M -e "a,size=${mib}M,alloc=fixed"
stop_nbdramd
wrong 1 'export b: the pool .* has not got the memory' -l "unix:$tmp/s" \
	-m 64M -e b,size=64M,alloc=fixed
