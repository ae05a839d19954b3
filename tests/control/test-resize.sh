#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# resize: growing at once, for new clients; shrinking only where there is no data.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 256M -e a,size=64M
peer <<'END' || fail "resize"
p = Peer.open(name="a")
p.write(63 * MIB, b"end")
assert "-e a says" in ctl("resize", "a", "1T")
assert Peer.open(name="a").size == 2**40
# The section to be put into a file has the size that the disk has.
assert "size = 1T" in ctl("show", "a", "--config").splitlines()
assert disks()["a"]["size"] == 2**40
p.disc()
assert eventually(10, lambda: disks()["a"]["clients"] == 0)
ctl("resize", "a", "64M")
assert "trim" in fails("in-use", "resize", name="a", size="32M")
p = Peer.open(name="a")
p.trim(0, 64 * MIB)
p.disc()
assert eventually(10, lambda: disks()["a"]["clients"] == 0)
ctl("resize", "a", "32M")
assert Peer.open(name="a").size == 32 * MIB
for size in "0", "", "-1", "x", "1.5G", "9E", "16 G":
    fails("usage", "resize", name="a", size=size)
fails("usage", "resize", name="a")
fails("usage", "resize", name="a", size=4096)
fails("not-found", "resize", name="b", size="1M")
ctl("snapshot", "a", "s")
fails("read-only", "resize", name="s", size="64M")
ctl("create", "fixed", "size=16M", "alloc=fixed")
fails("no-space", "resize", name="fixed", size="1G")
assert disks()["fixed"]["size"] == 16 * MIB
END
stop_nbdramd
