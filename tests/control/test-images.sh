#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# save and load: what is written is what others read, raw and sparse, or zstd's; as the
# disk was at one moment; all of it or nothing; clients go on.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

requires_command zstd
mkdir "$tmp/files"
start_nbdramd -m 256M -e disk,size=64M -e other,size=8M -e odd,size=3000001
peer "$tmp/files" <<'END' || fail "save and load"
import select, stat, struct, subprocess
folder = args[0]
path = lambda name: os.path.join(folder, name)
def contents(name):
    with open(path(name), "rb") as f:
        return f.read()
def run(*words, **more):
    return subprocess.run(words, check=True, timeout=120, **more)
left = lambda: sorted(os.listdir(folder))

p = Peer.open(name="disk")
want = bytearray(64 * MIB)
for off, n in ((0, MIB), (10 * MIB + 512, 100), (63 * MIB, MIB)):
    data = pattern(off, n)
    p.write(off, data)
    want[off:off + n] = data

# Raw: what it is, and sparse. A relative name is one of the caller's folder.
ctl("save", "disk", "disk.img", cwd=folder)
assert contents("disk.img") == want
st = os.stat(path("disk.img"))
assert st.st_blocks * 512 < 4 * MIB and stat.S_IMODE(st.st_mode) == 0o600, st
# What others compress and write is read, and what we do they read.
ctl("save", "disk", path("disk.zst"))
assert run("zstd", "-dc", path("disk.zst"), capture_output=True).stdout == want
assert os.stat(path("disk.zst")).st_size < 4 * MIB
assert "64.0 MiB" in run("zstd", "-l", path("disk.zst"), capture_output=True,
                         text=True).stdout
run("zstd", "-q", path("disk.img"), "-o", path("own.zst"))
with open(path("piped.zst"), "wb") as out:
    half = 32 * MIB
    for part in (want[:half], want[half:]):
        run("zstd", "-qc", input=bytes(part), stdout=out)
assert left() == ["disk.img", "disk.zst", "own.zst", "piped.zst"], left()

p.disc()
for name in ("disk.img", "disk.zst", "own.zst", "piped.zst"):
    q = Peer.open(name="disk")
    q.write(0, pattern(7, 64 * MIB))
    q.disc()
    assert q.closed()
    generation = ask("show", name="disk")["disk"]["generation"]
    ctl("load", "disk", path(name))
    with Peer.open(name="disk") as q:
        assert q.read(0, 64 * MIB) == want, name
    d = ask("show", name="disk")["disk"]
    assert d["generation"] == generation + 1 and d["held"] < 4 * MIB, (name, d)
    assert d["size"] == 64 * MIB

# Odd sizes, smaller and larger images.
with Peer.open(name="odd") as q:
    q.write(3000000, b"x")
ctl("save", "odd", path("odd.img"))
assert contents("odd.img") == bytes(3000000) + b"x"
ctl("save", "odd", path("odd.zst"))
for name in ("odd.img", "odd.zst"):
    ctl("load", "other", path(name))
    with Peer.open(name="other") as q:
        assert q.size == 8 * MIB and q.read(2999999, 4) == b"\0x\0\0"
ctl("create", "grows", "size=1M")
ctl("load", "grows", path("odd.zst"))
assert disks()["grows"]["size"] == 3000001
assert "larger than the disk" in fails("failed", "load", name="odd", file=path("disk.img"))
ctl("create", "made", "image=odd.zst", cwd=folder)
with Peer.open(name="made") as q:
    assert q.size == 3000001 and q.read(2999999, 2) == b"\0x"
ctl("create", "made2", "size=5M", "alloc=fixed", "image=" + path("odd.img"))
with Peer.open(name="made2") as q:
    assert q.size == 5 * MIB and q.read(2999999, 3) == b"\0x\0"
assert "larger than the disk" in fails("failed", "create", name="made3",
                                      keys=["size=1M", "image=" + path("odd.zst")])
assert "made3" not in disks()
ctl("create", "made4", "alloc=fixed", "image=" + path("odd.zst"))
assert ask("show", name="made4")["disk"]["guarantee"] >= 3000001
for name in ("made", "made2", "made4", "grows"):
    ctl("delete", name)

# At one moment: the second of two blocks is never newer than the first, which is
# written before it, nor older by more than one.
p = Peer.open(name="disk")
number = lambda n: struct.pack(">Q", n) * 512
p.write(0, number(0))
p.write(40 * MIB, number(0))
n = 0
for name in ("moving.img", "moving.zst"):
    with Control() as c:
        c.request("save", name="disk", file=path(name))
        while not select.select([c.s], [], [], 0)[0]:
            n += 1
            p.write(0, number(n))
            p.write(40 * MIB, number(n))
        c.answer()
    print("%s: %d writes" % (name, n))
    data = contents(name) if name.endswith("img") else run(
        "zstd", "-dc", path(name), capture_output=True).stdout
    first, second = data[:4096], data[40 * MIB:40 * MIB + 4096]
    k, = struct.unpack_from(">Q", second)
    assert second == number(k) and first in (number(k), number(k + 1)), k
# An existing file keeps its mode; what was there is replaced as a whole.
os.chmod(path("disk.img"), 0o644)
inode = os.stat(path("disk.img")).st_ino
ctl("save", "disk", path("disk.img"))
st = os.stat(path("disk.img"))
assert stat.S_IMODE(st.st_mode) == 0o644 and st.st_ino != inode
assert not [n for n in left() if n.endswith(".tmp")], left()

# Who writes is in the way of a load, who reads is not; --force.
assert "for writing" in ctl("load", "disk", path("odd.img"), status=1)
ctl("load", "--force", "disk", path("odd.img"))
assert p.closed()
ctl("snapshot", "disk", "snap")
ctl("save", "snap", path("snap.img"))
assert contents("snap.img")[2999999:3000002] == b"\0x\0"
assert "never changes" in fails("read-only", "load", name="snap", file=path("odd.img"))
assert set(disks()) == {"disk", "other", "odd", "snap"}, disks()
ask("check")
END
stop_nbdramd
