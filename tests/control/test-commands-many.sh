#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A hundred commands at once, on connections of their own and on one: all are
# answered, those of one connection in their order. More connections than there
# may be wait; idle ones give way.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 64M -e a,size=1M
peer <<'END' || fail "many commands"
env = [os.environ["NBDRAMCTL"], "-s", os.environ["NBDRAM_CONTROL"]]
runs = [subprocess.Popen(env + ["clone", "a", "c%d" % i]) for i in range(100)]
assert [r.wait() for r in runs] == [0] * 100
assert len(disks()) == 101

with Control() as c:
    for i in range(100):
        c.request("show", name="c%d" % i)
    for i in range(100):
        assert c.answer()["disk"]["name"] == "c%d" % i
    for i in range(100):
        c.request("delete", name="c%d" % i)
    for i in range(100):
        c.answer()
assert set(disks()) == {"a"}

idle = [Control() for i in range(200)]
for i in range(20):
    assert len(ask("list")["disks"]) == 1
assert descriptors(pid) < 64 + 60
busy = [Control() for i in range(100)]
for c in busy:
    c.request("list")
for c in busy:
    assert len(c.answer()["disks"]) == 1
END
stop_nbdramd
