#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Warnings when 80 and 95 % of the pool are held: once each, and again only after it
# has fallen below; and when writes were refused. What show says about memory adds
# up.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -o warm=0 -o "full=error" -m 64M -e a,size=1G,default
# warned COUNT: so many lines about the pool, exactly.
warned()
{
	grep -c '% of the pool are held' "$log" | grep -qx "$1"
}
# fill PERCENT: so much of what disks may hold is held now, about.
fill()
{
	peer "$1" <<'END' || fail "fill to $1 %"
pool = lambda: ask("show")["pool"]
most = pool()["most"]
want = most * int(args[0]) // 100 // 4096 * 4096
p = Peer.open(name="a")
p.trim(want, 2**30 - want)
held = pool()["held"]
at = 0
while at < want:
    n = min(262144, want - at)
    p.write(at, b"x" * n)
    at += n
p.flush()
u = pool()
print("%s %%: %r" % (args[0], u))
assert want <= u["held"] <= want + 1024 * 1024 + held - min(held, want), u
assert 0 < u["tables"] < u["held"] // 100 + 65536, u
assert u["held"] <= u["most"] < u["size"], u
assert u["backing"] >= u["held"] - u["freed"], u
assert u["headroom"] >= 2**28 or u["headroom"] > 0, u
assert u["headroom-left"] > 0, u
END
}
fill 50
fill 82
wait_for 30 warned 1 || fail "no warning at 82 %"
fill 83
fill 96
wait_for 30 warned 2 || fail "no warning at 96 %"
fill 84
sleep 1.2 # it is looked at each second
fill 97
wait_for 30 warned 3 || fail "no second warning at 97 %"
fill 10
sleep 1.2 # it is looked at each second
fill 97
wait_for 30 warned 4 || fail "no warning after it was empty"
grep 'are held' "$log"
grep -q 'no memory was to be had' "$log" && fail "a refusal, though there was none"
peer <<'END' || fail "refusals"
p = Peer.open(name="a")
try:
    for at in range(0, 2**30, 262144):
        p.write(at, b"x" * 262144)
    raise AssertionError("1 GiB in 64 MiB")
except Refused as e:
    assert e.name == "ENOSPC"
assert ask("show")["pool"]["refusals"] > 0
END
wait_for 30 grep -q 'no memory was to be had' "$log" || fail "no word about refusals"
