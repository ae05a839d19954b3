#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# load = lazy: served at once, what a client waits for comes first, all the rest behind;
# writes that need nothing wait for nothing, and stay. After kill -9 it goes on, never
# with zeroes; without its file, or with another one, what is missing is an error, and
# nothing else is.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

slow_files
new_pool
fifo=$tmp/reads
mkfifo "$fifo"
conf=$tmp/nbdram.conf
cat >"$conf" <<END
[pool]
size = 64M
path = $pool
[export a]
image = $tmp/a.img
load = lazy
[export other]
size = 1M
END
start()
{
	start_nbdramd --with env LD_PRELOAD="$tmp/slow.so" NBDRAM_TEST_READS="$fifo" -- \
		-c "$conf"
}
cat >"$tmp/lazy.py" <<'END'
from lazy import *
folder = args[0]
gate = Gate(folder + "/reads")
if not os.path.exists(folder + "/want"):
    with open(folder + "/want", "wb") as f:
        f.write(make_image(folder + "/a.img", 1))
with open(folder + "/want", "rb") as f:
    want = bytearray(f.read())
SIZE = len(want)
def shown(name="a"):
    return ask("show", name=name)["disk"]
def left(name="a"):
    return shown(name).get("to-load", 0)
def keep():
    with open(folder + "/want", "wb") as f:
        f.write(want)
def all_right(name="a"):
    with Peer.open(name=name) as p:
        same(p.read(0, SIZE), want)
END
# py: run a program after that.
py()
{
	cat "$tmp/lazy.py" - | peer "$tmp" || fail "see above"
}

echo 'pass' | py
start
py <<'END'
p, q = Peer.open(name="a"), Peer.open(name="a")
assert p.size == SIZE
# Nothing has been read, and what is where is known.
everything = left()
assert everything == SIZE - MIB + 4096 - 700, everything
assert shown()["loaded-from"] == folder + "/a.img" and shown()["load-state"] == "loading"
assert [(l, f) for l, f in p.status(0, SIZE)] == [(MIB, 0), (MIB, 3), (SIZE - 2 * MIB, 0)]
assert p.read(MIB, MIB) == bytes(MIB)
# What needs nothing waits for nothing.
new = pattern(3, 8192)
p.write(2 * MIB + 4096, new)
want[2 * MIB + 4096:2 * MIB + 12288] = new
assert p.read(2 * MIB + 4096, 8192) == new
p.trim(2 * MIB + 40960, 8192)
want[2 * MIB + 40960:2 * MIB + 49152] = bytes(8192)
everything -= 16384
assert left() == everything
# A read, a write of a part of a block and a trim of one wait; others go on.
last = send(p, READ, SIZE - 600, 600)
part = send(p, WRITE, 3 * MIB - 10, 20, payload=b"x" * 20)
cut = send(p, TRIM, 900 * 1024 + 5, 10)
with Peer.open(name="other") as o:
    for i in range(20):
        o.write(4096 * i, new)
        # Whatever else were answered first would not be this.
        assert p.read(MIB + i, 100) == bytes(100)
        assert q.read(2 * MIB + 4096, 8192) == new
# It has begun at the beginning; then comes what is wanted, in that order.
gate.let(2)
assert take(p, last) == [last]
assert last.data == want[SIZE - 600:]
assert eventually(30, lambda: left() == everything - CHUNK - 4096), left()
gate.let(3) # around the write that is two chunks
take(p, part, cut)
part.check(), cut.check()
want[3 * MIB - 10:3 * MIB + 10] = b"x" * 20
want[900 * 1024 + 5:900 * 1024 + 15] = bytes(10)
assert q.read(3 * MIB - 4096, 8192) == want[3 * MIB - 4096:3 * MIB + 4096]
assert 0 < left() < everything - 3 * CHUNK
# A client that goes leaves nothing behind; what it asked for comes nevertheless.
q.request(READ, 2 * MIB + 512 * 1024, 4096)
q.close()
keep()
END
kill_nbdramd
# In the middle, and again.
start
py <<'END'
assert 0 < left() < SIZE - MIB - 3 * CHUNK
before = left()
with Peer.open(name="a") as p:
    assert p.read(0, CHUNK) == want[:CHUNK]
    assert p.read(SIZE - 600, 600) == want[SIZE - 600:]
    assert p.read(2 * MIB + 4096, 8192) == want[2 * MIB + 4096:2 * MIB + 12288]
    wanted = send(p, READ, 2 * MIB + 768 * 1024, 4096)
    # What was left in the fifo may be one read.
    gate.let(3)
    take(p, wanted)
    assert wanted.data == want[2 * MIB + 768 * 1024:][:4096]
gate.shut()
assert 0 < left() < before, left()
END
kill_nbdramd
grep -q ERROR "$log" && fail "an error where there is none"

# Its file is gone.
mv "$tmp/a.img" "$tmp/gone.img"
start
py <<'END'
gate.shut()
missing = left()
assert missing > 0
p = Peer.open(name="a")
# Somewhere there is what is missing; where, the read of a block after the other says.
bad = []
for at in range(0, SIZE, 4096):
    n = min(4096, SIZE - at)
    request = send(p, READ, at, n)
    assert p.answer() is request
    if request.error:
        assert request.name() == "EIO" and "log" in request.text, request.text
        bad.append(at)
    else:
        assert request.data == want[at:at + n], at
assert len(bad) * 4096 == missing and p.status(bad[0], 4096)[0] == (4096, 0)
assert shown()["load-state"].startswith("failed"), shown()
# All else goes on.
p.write(bad[0], b"n" * 4096)
want[bad[0]:bad[0] + 4096] = b"n" * 4096
assert p.read(bad[0], 4096) == b"n" * 4096
assert left() == missing - 4096
assert Peer.open(name="other").read(0, 4096) == pattern(3, 4096)
assert "cannot be read" in fails("failed", "save", name="a", file=folder + "/saved.raw")
assert not os.path.exists(folder + "/saved.raw")
ask("check")
keep()
END
[ "$(grep -c "disk a: $tmp/a.img: cannot be read: No such file.*nbdramctl load" "$log")" = 1 ] ||
	fail "the log does not say which file is missing, once"
# Another one in its place is not taken for it; the right one is, when it is back.
cp "$tmp/gone.img" "$tmp/a.img"
wait_for 20 grep -q "disk a: $tmp/a.img: is another file than it was" "$log" ||
	fail "the log does not say that it is another one"
py <<'END'
assert shown()["load-state"].startswith("failed") and left() > 0
os.rename(folder + "/gone.img", folder + "/a.img")
gate.let(1000)
assert eventually(30, lambda: "to-load" not in shown())
all_right()
gate.shut()
END
grep -q "$tmp/a.img: is there again" "$log" || fail "the log does not say that it goes on"
grep -q 'disk a: all of it is loaded' "$log" || fail "the log does not say that it is loaded"
stop_nbdramd
# It needs no file any more.
rm "$tmp/a.img"
start
echo 'all_right(); assert "to-load" not in shown()' | py
stop_nbdramd
