#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# While the memory of large disks is taken, by create and by a reload: clients come in,
# short commands are answered, SIGHUP holds nothing up; SIGTERM ends it.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mib=$(scaled 8192 1024)
configure()
{
	cat >"$tmp/conf" <<END
[pool]
size = $((3 * mib + 128))M
warm = 0
[export a]
size = 64M
END
}
configure
start_nbdramd -c "$tmp/conf"
peer "$mib" "$tmp/conf" <<'END' || fail "long commands"
mib = int(args[0])

def begin(command, **arguments):
    c = Control()
    c.request(command, **arguments)
    return c

def others_go_on(c):
    """Until it is over; its answer."""
    n = 0
    worst = 0
    while True:
        if select.select([c.s], [], [], 0)[0] or c.buf:
            line = c.line()
            if "progress" not in line:
                break
        for what in (lambda: Peer.open(name="a").disc(), lambda: ask("clients"),
                     lambda: ask("stats")):
            started = time.monotonic()
            what()
            worst = max(worst, time.monotonic() - started)
        n += 1
    print("%d times, the slowest %.3f s" % (n, worst))
    assert slow or worst < 1.5, worst
    return line

c = begin("create", name="f", keys=["size=%dM" % mib, "alloc=fixed"])
os.kill(int(pid), 1)
assert others_go_on(c).get("ok")
ask("delete", name="f")

# Who looks is not behind two of them, even for a list of all.
def beside_two():
    # Memory that is there still would be had at once.
    assert eventually(60, lambda: ask("show")["pool"]["backing"] < 256 * MIB)
    two = [begin("create", name=name,
                 keys=["size=%dM" % max(mib // 2, 1024), "alloc=fixed"])
           for name in ("f", "g")]
    lines = [c.line() for c in two]
    both = all("progress" in line for line in lines)
    assert "a" in disks()
    for i, c in enumerate(two):
        while "progress" in lines[i] and (
                c.buf or select.select([c.s], [], [], 0)[0]):
            lines[i] = c.line()
        both = both and "progress" in lines[i]
    for i, c in enumerate(two):
        while "progress" in lines[i]:
            lines[i] = c.line()
        assert lines[i].get("ok"), lines[i]
    for name in "f", "g":
        ask("delete", name=name)
    return both
assert any(beside_two() for i in range(5))

with open(args[1], "a") as f:
    f.write("[export f]\nsize = %dM\nalloc = fixed\n" % mib)
c = begin("reload")
behind = [Control() for i in range(5)]
for i, b in enumerate(behind):
    b.request("clone", **{"from": "a", "to": "c%d" % i})
os.kill(int(pid), 1)
line = others_go_on(c)
assert line.get("ok"), line
for b in behind:
    b.answer()
assert disks()["f"]["exported"]
END
stop_nbdramd

# SIGTERM meanwhile: stop_nbdramd says so if it takes long.
configure
start_nbdramd -c "$tmp/conf"
ctl create big "size=$((2 * mib))M" alloc=fixed >"$tmp/create" 2>&1 &
create=$!
peer <<'END' || fail "no memory is taken"
eventually(10, lambda: ask("show")["pool"]["guaranteed"] > 0)
END
stop_nbdramd
wait "$create"
cat "$tmp/create"
configure
start_nbdramd -c "$tmp/conf"
printf '[export big]\nsize = %dM\nalloc = fixed\n' $((2 * mib)) >>"$tmp/conf"
kill -HUP "$pid"
peer <<'END' || fail "no memory is taken by a reload"
eventually(10, lambda: ask("show")["pool"]["guaranteed"] > 0)
END
stop_nbdramd
