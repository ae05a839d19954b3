#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A command that waits for a long reload and is given up meanwhile is not done
# afterwards.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mib=$(scaled 4096 2048)
conf=$tmp/nbdram.conf
printf '[pool]\nsize = %dM\nwarm = 0\n[export a]\nsize = 1M\n' $((mib + 512)) \
	>"$conf"
start_nbdramd -c "$conf"
peer "$mib" "$conf" <<'END' || fail "given up while it waits"
for name in "gone", "stays", "s1":
    ask("create", name=name, keys=["size=1M"])
with open(args[1], "a") as f:
    f.write("[export f]\nsize = %sM\nalloc = fixed\n" % args[0])

def began(command, **arguments):
    c = Control()
    c.request(command, **arguments)
    return c

reload = began("reload")
line = reload.line()
assert "progress" in line, line
# One that waits for the reload, others that wait for a thread; it says so.
waits = began("create", name="new", keys=["size=1M"])
queued = [began("delete", name="gone"), began("resize", name="a", size="2M"),
          began("clone", **{"from": "a", "to": "copy"})]
kept = began("delete", name="stays")
told = waits.line()
if "progress" not in told:
    print("the reload was through before anything could be seen")
    sys.exit(0)
assert told["progress"]["what"] == "waiting for other changes", told
for c in [waits] + queued:
    c.s.close()
# Looking goes on, and shows that the reload is not through.
assert not disks().get("f", {}).get("exported")
while "progress" in line:
    line = reload.line()
assert line.get("ok"), line
kept.answer()
assert set(disks()) == {"a", "f", "gone", "s1"}, disks()
assert disks()["a"]["size"] == MIB
END
stop_nbdramd
