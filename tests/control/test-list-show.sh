#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# list and show: what there is, how much of it, who made it, all keys.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 256M -e a,size=64M,readonly -e b,size=1G,quota=100M,default \
	-e 'c d',size=5000,max-connections=3
peer <<'END' || fail "list and show"
p = Peer.open(name="b")
p.write(0, pattern(1, 3 * MIB))
d = disks()
assert set(d) == {"a", "b", "c d"}, d
assert d["a"]["size"] == 64 * MIB and d["a"]["readonly"] and d["a"]["exported"]
assert d["b"]["size"] == 2**30 and not d["b"]["readonly"]
assert 3 * MIB <= d["b"]["held"] < 3 * MIB + 65536, d["b"]
assert d["b"]["clients"] == 1 and d["a"]["clients"] == 0
assert d["c d"]["size"] == 5000

b = ask("show", name="b")["disk"]
assert b["held"] == b["own"] + b["shared"] and b["shared"] == 0
assert b["quota"] == 100 * MIB and b["default"] and b["writers"] == 1
assert b["made"] == "configuration" and b["alloc"] == "thin"
assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b["uuid"])
assert ask("show", name="c d")["disk"]["max-connections"] == 3
assert "no such disk" in fails("not-found", "show", name="x")

s = ask("show")
assert s["server"]["pid"] == int(pid) and s["server"]["exports"] == 3
assert s["server"]["connections"] == 1
assert s["pool"]["size"] == 256 * MIB and s["pool"]["held"] >= 3 * MIB
keys = {(k["section"], k["key"]): k["value"] for k in s["keys"]}
assert keys["pool", "size"] == "256M" and keys["server", "workers"] == "auto"
assert keys["server", "control"] == os.environ["NBDRAM_CONTROL"]

# How far it is, is told only of what lasts.
def untold():
    with Control() as c:
        c.ask("list")
        return not c.progress
assert any(untold() for i in range(50))

# As people see it.
lines = ctl("list").splitlines()
assert lines[0].split() == ["NAME", "SIZE", "HELD", "CLIENTS", "STATE"]
assert lines[1].split() == ["a", "64M", "0", "0", "exported,", "read-only"]
assert re.search("^quota  +100M$", ctl("show", "b"), re.M)
assert re.search("^server +control +%s$" % os.environ["NBDRAM_CONTROL"],
                 ctl("show"), re.M)
# A fixed disk holds all that it is guaranteed, used or not; a clone of it does not.
ctl("create", "fixed", "size=16M", "alloc=fixed")
p = Peer.open(name="fixed")
def fixed():
    d = disks()["fixed"]
    s = ask("show", name="fixed")["disk"]
    assert d["held"] == s["held"] and d["taken"] == s["held"] + s["kept"]
    assert 16 * MIB < d["taken"] < 16 * MIB + 65536, d
    return s
assert fixed()["held"] == 0
p.write(0, pattern(1, 4 * MIB))
assert 4 * MIB <= fixed()["held"] < 5 * MIB
ctl("clone", "fixed", "g")
g = disks()["g"]
assert g["taken"] == g["held"] >= 4 * MIB, g
# What it shares now it is guaranteed anew.
line = [l for l in ctl("list").splitlines() if l.startswith("fixed")][0]
assert line.split()[2] == "20M", line
ctl("delete", "g")
assert eventually(30, lambda: disks()["fixed"]["taken"] < 17 * MIB)
ctl("create", "kept", "size=1G", "guarantee=8M")
assert disks()["kept"]["taken"] == 8 * MIB
ctl("delete", "kept")
# --json before and after.
assert json.loads(ctl("--json", "list")) == json.loads(ctl("list", "--json"))
END

# What show --config says is a configuration.
{
	printf '[server]\nlisten = unix:%s\ncontrol = %s\n' "$tmp/other" \
		"$tmp/other-control"
	ctl show --config
} >"$tmp/conf" || fail "show --config"
"$nbdramd" -t -c "$tmp/conf" || fail "this is no configuration"
cat "$tmp/conf"
grep -q '^\[export c d\]$' "$tmp/conf" || fail "a section is missing"
stop_nbdramd
