#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory for a larger fixed disk, by command and by reload: how far it is is told,
# nobody sees the size before, others do not wait for a command, and who gives up
# leaves all as it was.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mib=$(scaled 4096 2048)
conf=$tmp/nbdram.conf
cat >"$conf" <<END
[pool]
size = $((mib * 2 + 512))M
warm = 0
[export a]
size = 64M
[export f]
size = 16M
alloc = fixed
END
start_nbdramd -c "$conf"
peer "$mib" "$conf" <<'END' || fail "larger fixed disks"
mib, conf = int(args[0]), args[1]
with open(conf) as f:
    text = f.read()

def configure(more):
    with open(conf, "w") as f:
        f.write(text + more)

def pool():
    return ask("show")["pool"]

def size(name="f"):
    return disks()[name]["size"] // MIB

def as_before():
    # But for a table or two.
    return abs(pool()["guaranteed"] - before["guaranteed"]) < MIB

def given_up(command, **arguments):
    """Close the connection once it is told how far it is."""
    c = Control()
    c.request(command, **arguments)
    line = c.line()
    assert "progress" in line, line
    progress = line["progress"]
    assert "memory" in progress["what"], progress
    assert progress["done"] <= progress["all"], progress
    assert size() == 16
    c.s.close()
    assert eventually(60, as_before), pool()
    assert size() == 16 and set(disks()) == {"a", "f"}
    ask("check")

before = pool()
assert before["guaranteed"] >= 16 * MIB
client = Peer.open(name="f")

# By command; short ones go on meanwhile, and clients come.
c = Control()
c.request("resize", name="f", size="%dM" % mib)
told = 0
while True:
    line = c.line()
    if "progress" not in line:
        assert line.get("ok"), line
        break
    told += 1
    ask("clone", **{"from": "a", "to": "c%d" % told})
    ask("delete", name="c%d" % told)
    with Peer.open(name="f") as p:
        assert p.size in (16 * MIB, mib * MIB)
print("%d MiB, told %d times" % (mib, told))
assert told > 0 and size() == mib
assert pool()["guaranteed"] >= mib * MIB
client.write((mib - 1) * MIB, b"x" * 4096)
client.trim((mib - 1) * MIB, MIB)
client.disc()
assert eventually(10, lambda: disks()["f"]["clients"] == 0)
ask("resize", name="f", size="16M")
assert eventually(10, as_before), pool()
client = Peer.open(name="f")

# Given up. What has been freed has its memory no more after a while.
def punched():
    return pool()["backing"] < before["backing"] + 64 * MIB
assert eventually(60, punched), pool()
given_up("resize", name="f", size="%dM" % mib)
assert eventually(60, punched), pool()
configure("[export new]\nsize = %dM\nalloc = fixed\n" % mib)
given_up("reload")
assert eventually(60, punched), pool()
with open(conf, "w") as f:
    f.write(text.replace("size = 16M", "size = %dM" % mib))
given_up("reload")
assert eventually(60, punched), pool()
with open(conf, "w") as f:
    f.write(text.replace("size = 64M", "size = %dM\nalloc = fixed" % mib))
given_up("reload")
assert eventually(60, punched), pool()
# By Ctrl-C in nbdramctl.
configure("[export new]\nsize = %dM\nalloc = fixed\n" % mib)
run = subprocess.Popen([os.environ["NBDRAMCTL"], "-s",
                        os.environ["NBDRAM_CONTROL"], "reload"])
assert eventually(60, lambda: pool()["guaranteed"] > before["guaranteed"])
run.send_signal(2)
run.wait()
assert eventually(60, as_before), pool()
assert set(disks()) == {"a", "f"}
client.write(0, b"y" * 4096)

# Two mistakes change nothing either, and nothing is told twice.
with open(conf, "w") as f:
    f.write(text.replace("size = 16M", "size = 9T"))
assert "has not got the memory" in fails("config", "reload")
assert "has not got the memory" in fails("no-space", "resize", name="f",
                                         size="9T")
assert as_before() and size() == 16
# And all of it done.
configure("[export new]\nsize = 32M\nalloc = fixed\n")
ask("reload")
assert size("new") == 32 and size() == 16
END
grep -q 'reload: it was given up' "$log" || fail "nothing in the log"
stop_nbdramd
