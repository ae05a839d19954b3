#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# While a disk is loaded behind (load = lazy): clones, snapshots, rollback, resize, save,
# load and delete of it; a stop and an upgrade in the middle; templates; a reload.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

slow_files
new_pool
mkfifo "$tmp/reads"
mkdir "$tmp/d"
peer "$nbdramd" "$tmp" "$pool" <<'END' || fail "see above"
import shutil, threading
from lazy import *
from survive import *
program, folder, pool = args
gate = Gate(folder + "/reads")
img = folder + "/a.img"
want = make_image(img, 1)
SIZE = len(want)
conf = folder + "/nbdram.conf"
def configure(load, *more):
    with open(conf, "w") as f:
        f.write("[pool]\nsize = 128M\npath = %s\n[export a]\nimage = %s\nload = %s\n"
                "[template t-*]\nimage = %s\nload = lazy\n" % (pool, img, load, img)
                + "".join(more))
configure("lazy")
adopt_children()
d = Daemon(program, folder + "/d", "-c", conf, where="unix",
           env={"LD_PRELOAD": folder + "/slow.so",
                "NBDRAM_TEST_READS": folder + "/reads"})
d.start()
os.environ["NBD_URI"], os.environ["NBDRAM_CONTROL"] = d.uri, d.control
show = lambda name: ask("show", name=name)["disk"]
left = lambda name="a": show(name).get("to-load", 0)
loaded = lambda name="a": eventually(30, lambda: "to-load" not in show(name))
def whole(name, want):
    with Peer.open(name=name) as p:
        same(p.read(0, len(want)), want)
class Slowly:
    """A read of a file now and then, while something else is done."""
    def __enter__(self):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
    def run(self):
        while not self.over.wait(0.02):
            gate.let(1)
    def __exit__(self, *unused):
        self.over.set()
        self.thread.join()
try:
    # The clone's first write waits for the 2 MiB that it shares, not for more, so
    # that each part is loaded and held once.
    ask("clone", **{"from": "a", "to": "copy"})
    ask("snapshot", name="a", **{"as": "snap"})
    everything = left()
    assert left("copy") == left("snap") == everything
    # What is to come cannot be cut off.
    assert "has data" in fails("in-use", "resize", name="copy", size="4M")
    p = Peer.open(name="copy")
    write = send(p, WRITE, 8192, payload=b"c" * 4096)
    gate.let(4)                 # 1 MiB; the other is a hole
    take(p, write)
    write.check()
    assert left("a") == left("snap") == everything - MIB, left()
    copy = want[:]
    copy[8192:12288] = b"c" * 4096
    assert p.read(0, MIB) == copy[:MIB]
    ask("resize", name="copy", size="8M")
    # A save waits for what it needs; to the file itself, for all that others need.
    with Control() as c, Control() as own:
        c.request("save", name="copy", file=folder + "/copy.raw")
        own.request("save", name="copy", file=img)
        assert left() > 0 and not os.path.exists(folder + "/copy.raw")
        whole("copy", copy[:MIB])
        gate.let(1000)
        c.answer()
        own.answer()
    gate.shut()
    with open(folder + "/copy.raw", "rb") as f:
        same(f.read(), copy + bytes(8 * MIB - SIZE))
    with open(img, "rb") as f:
        same(f.read(), copy + bytes(8 * MIB - SIZE))
    assert loaded("a") and loaded("snap") and loaded("copy")
    whole("a", want), whole("snap", want), whole("copy", copy)
    assert show("copy")["own"] <= 64 * 1024, show("copy")
    p.disc()
    for name in "copy", "snap":
        ask("delete", name=name, force=True)

    # Deleted in the middle: at once, and nothing of it is left.
    want = make_image(img, 2)
    held = ask("show")["pool"]["held"]
    ask("create", name="b", keys=["image=" + img, "load=lazy"])
    p = Peer.open(name="b")
    send(p, READ, 0, 4096)
    ask("delete", name="b", force=True)
    assert p.closed()
    gate.let(1)
    assert eventually(30, lambda: ask("show")["pool"]["held"] <= held), held
    gate.shut()
    # A long write that begins and ends within blocks waits for these two.
    ask("create", name="b", keys=["image=" + img, "load=lazy"])
    with Peer.open(name="b") as p, Slowly():
        new = pattern(4, MIB // 2)
        p.write(5, new)
        same(p.read(0, MIB), want[:5] + new + want[5 + MIB // 2:MIB])
        p.disc()
        assert p.closed()
    # `load` in the middle: what it has then is all of it.
    with Slowly():
        ask("load", name="b", file=folder + "/copy.raw")
        assert "to-load" not in show("b")
        whole("b", copy + bytes(8 * MIB - SIZE))
    # Going back to what is not complete while a client takes no replies: what was
    # promised to it is sent when it is there, and none of it is zeroes.
    gate.shut()
    other = make_image(folder + "/other.raw", 3)
    ask("create", name="e", keys=["image=" + img, "load=lazy", "readonly=yes"])
    ask("snapshot", name="e", **{"as": "e.s"})
    ask("load", name="e", file=folder + "/other.raw")
    with Peer.open(name="e") as p:
        reads = [send(p, READ, 2 * MIB, MIB) for i in range(30)]
        ask("rollback", name="e", snapshot="e.s")
        assert left("e") > 0
        take(p, reads[0])
        gate.let(1000)
        take(p, *reads[1:])
    for r in reads:
        for at in range(2 * MIB, 3 * MIB, 4096):
            got = bytes(r.data[at - 2 * MIB:][:4096])
            assert got in (want[at:at + 4096], other[at:at + 4096]), (r, at)
    same(reads[-1].data, want[2 * MIB:3 * MIB])
    # A template's: opened at once, each loads its own.
    gate.shut()
    with Peer.open(name="t-1") as p:
        assert p.size == SIZE and left("t-1") > 0
        read = send(p, READ, SIZE - 100, 100)
        with Slowly():
            take(p, read)
        assert read.data == want[SIZE - 100:] and left("t-1") > 0

    # A stop, a kill and an upgrade in the middle.
    before = left("t-1")
    with Slowly():
        d.stop()
    gate.shut()
    d.start()
    assert 0 < left("t-1") <= before
    with Slowly():
        d.upgrade()
    gate.shut()
    assert 0 < left("t-1") <= before
    with Peer.open(name="t-1") as p:
        read = send(p, READ, 2 * MIB, 100)
        with Slowly():
            take(p, read)
        assert read.data == want[2 * MIB:2 * MIB + 100]

    # A reload with the key changed: what is loading goes on; new ones are as it says.
    left_before = left("t-1")
    configure("now", "[export n]\nimage = %s\nload = lazy\n" % img)
    with Slowly():
        said = ask("reload")["changes"]
    assert any("export n: is exported now" in line for line in said), said
    gate.shut()
    assert left("n") > 0 and left("t-1") <= left_before
    gate.let(1000)
    assert loaded("t-1") and loaded("n")
    whole("t-1", want), whole("n", want)
    gate.shut()
    # What zstd has compressed cannot be read from the middle: it is loaded first.
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", img, "-o", folder + "/a.zst"], check=True)
        ask("create", name="z", keys=["image=" + folder + "/a.zst", "load=lazy"])
        assert "to-load" not in show("z")
        whole("z", want)
        assert "export z: load = lazy is for raw files" in d.said()
    # What cannot be is told at once.
    assert "quota" in fails("no-space", "create", name="no",
                            keys=["image=" + img, "load=lazy", "quota=64K"])
    assert "larger than the disk" in fails("failed", "create", name="no", keys=[
        "image=" + img, "load=lazy", "size=1M"])
    assert "load means nothing without image" in fails(
        "usage", "create", name="no", keys=["load=lazy", "size=1M"])
    assert "no" not in disks()
    ask("check")
    with Slowly():
        d.stop()
finally:
    d.end()
    print(d.said()[-6000:])
END
