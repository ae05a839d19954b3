#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Death before and after each store by which something in the pool becomes visible
# (scaled: some of them), through the whole server: at its start, while it makes
# disks; writes, partial ones, trims, zeroes, create, resize, snapshot, clone,
# rollback, reset, save, load, format, delete, loading behind, a template's disks made
# and found again, reload;
# and of a new one in an upgrade, where the old one goes on with the disks that it had.
# What was acknowledged is there, what was not is there or not, and the pool is sound.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
dies=$PWD/survive/nbdramd-dies
[ -x "$dies" ] || skip "$dies has not been built"

PATH=$PATH:/usr/sbin:/sbin
requires_command mkfs.ext4
new_pool
mkdir "$tmp/folder"
peer "$nbdramd" "$dies" "$tmp/folder" "$pool" <<'END' || fail "see above"
import shutil
from survive import *
nbdramd, dies, folder, pool = args
conf, program = folder + "/conf", folder + "/nbdramd"
lazy, LAZY = folder + "/lazy.img", pattern(11, 3 * 4096 + 100)
image, saved = folder + "/image", folder + "/saved.img"
adopt_children()

def configure(text):
    with open(conf, "w") as f:
        f.write("[server]\nworkers = 2\n[pool]\nsize = 64M\nwarm = 0\npath = %s\n"
                % pool + text + TEMPLATES)

TEMPLATES = "[template t-*]\nclone = d0\nexpire = 1h\n" \
    "[template always-*]\nsize = 64K\nfresh = always\nalloc = fixed\n"
FIRST = "[export d0]\nsize = 512K\n[export f]\nsize = 64K\nalloc = fixed\n"
THEN = "[export d0]\nsize = 512K\n[export f]\nsize = 1M\nalloc = fixed\n" \
    "[export n]\nsize = 1M\nquota = 512K\n[export m]\nclone = d0\n"

def install(text=None):
    if text is None:
        shutil.copy(nbdramd, program + ".new")
    else:
        with open(program + ".new", "w") as f:
            f.write(text)
    os.chmod(program + ".new", 0o755)
    os.rename(program + ".new", program)

class Scene(Client):
    """A client that does what it is told; `dead` once its server is."""
    def __init__(self, d):
        super().__init__(d, "d0", 128, "scene", commands=False, most=3)
        # Disks that are made on the way: what size they may have.
        self.sizes = {}
        self.plain = {}         # ... what their first block may be

    def gone(self):
        return self.server.pid == self.server.process.pid and \
            self.server.process.poll() is not None

    def attempt(self, what):
        try:
            what()
            return True
        except TimeoutError:
            raise
        except (Closed, OSError) as e:
            self.lost(e)
            return False

    def once(self, command, **args):
        with Control(self.server.control) as c:
            try:
                return c.ask(command, **args)
            except AssertionError:
                raise Closed()

    def batches(self, n):
        for i in range(n):
            self.batch()

    def create(self):
        self.sizes["x"] = [None, 64 * 1024]
        self.once("create", name="x", keys=["size=64K", "alloc=fixed"])
        self.sizes["x"] = [64 * 1024]

    def resize(self):
        self.sizes["x"] += [MIB]
        self.once("resize", name="x", size="1M")
        self.sizes["x"] = [MIB]

    def remove(self):
        self.sizes["x"] += [None]
        self.once("delete", name="x", force=True)
        self.sizes["x"] = [None]

    def template(self, name, size):
        """A disk of a template, made by opening it, with something in it."""
        self.sizes.setdefault(name, [None]).append(size)
        new = self.content(1)
        with Peer.open("extended", name=name, uri=self.server.uri,
                       timeout=60) as p:
            self.sizes[name] = [size]
            self.plain[name] = [self.what(0) if name == "t-1" else
                                bytes(BLOCK), new]
            p.write(0, new)
            self.plain[name] = [new]

    def again(self, name, size):
        """fresh = always: another one, for another session."""
        self.plain[name].append(bytes(BLOCK))
        self.sizes[name].append(None)
        self.template(name, size)

    def reset(self, name):
        self.plain[name].append(self.what(0))
        self.once("reset", name=name, force=True)
        self.plain[name] = [self.what(0)]

    def format(self):
        self.sizes["e"] = [None, MIB]
        self.once("create", name="e", keys=["size=1M", "format=ext4"])
        self.sizes["e"] = [MIB]

    def save(self):
        self.once("save", name="t-1", file=saved)
        with open(saved, "rb") as f:
            data = f.read()
        must(len(data) == self.blocks * BLOCK and
             data[:BLOCK] in self.plain["t-1"], "what was saved")

    def load(self):
        with open(image, "rb") as f:
            new = f.read(BLOCK)
        self.plain["t-1"].append(new)
        self.sizes["t-1"].append(os.path.getsize(image))
        self.once("load", name="t-1", file=image, force=True)
        self.plain["t-1"] = [new]

    def lazy(self):
        """Loaded behind: what is missing at a death comes afterwards."""
        self.sizes["z"] = [None, len(LAZY)]
        self.plain["z"] = [LAZY[:BLOCK]]
        self.once("create", name="z", keys=["image=" + lazy, "load=lazy"])
        self.sizes["z"] = [len(LAZY)]
        with Peer.open(name="z", uri=self.server.uri, timeout=60) as p:
            must(p.read(0, len(LAZY)) == LAZY, "z is not as its image")

    def reload(self):
        configure(THEN)
        self.once("reload")

    def play(self):
        """All of it; False: the server has died."""
        last = lambda kind: [n for n in self.copies if kind in n][-1]
        return all(self.attempt(what) for what in (
            self.connect,
            lambda: self.batches(4),
            self.create,
            self.resize,
            lambda: self.ask("snapshot", name="d0", **{"as": "d0.s1"}),
            lambda: self.batches(3),
            lambda: self.ask("clone", **{"from": "d0", "to": "d0.c1"}),
            lambda: self.verify_copy("d0.c1"),
            lambda: self.batches(2),
            lambda: self.ask("rollback", name="d0", snapshot="d0.s1",
                             force=True),
            lambda: self.peer.close() or self.connect(),
            lambda: self.batches(2),
            lambda: self.ask("delete", name="d0.c1", force=True),
            lambda: self.ask("delete", name="d0.s1", force=True),
            self.remove,
            self.format,
            lambda: self.template("t-1", self.blocks * BLOCK),
            lambda: self.template("always-1", 64 * 1024),
            lambda: self.again("always-1", 64 * 1024),
            self.save,
            lambda: self.reset("t-1"),
            lambda: self.batches(1),
            self.load,
            self.lazy,
            self.reload,
            lambda: self.batches(1)))

    def look(self):
        """The server is there again: is all as it must be?"""
        if self.peer:
            self.peer.close()
        self.connect()
        self.verify(range(self.blocks))
        for name in list(self.copies):
            self.verify_copy(name)
        with Control(self.server.control) as c:
            c.ask("check")
            found = {d["name"]: d for d in c.ask("list")["disks"]}
        for name, sizes in self.sizes.items():
            size = found[name]["size"] if name in found else None
            must(size in sizes, "%s has %s bytes, not one of %s"
                 % (name, size, sizes))
        for name, contents in self.plain.items():
            if name not in found:
                continue
            # By a name that no template has: opening must not make it anew.
            self.once("snapshot", name=name, **{"as": "look"})
            with Peer.open(name="look", uri=self.server.uri) as p:
                must(p.read(0, BLOCK) in contents, "%s: its first block"
                     % name)
            self.once("delete", name="look", force=True)
        # Whenever it died: a disk that is there has its file system.
        if "e" in found:
            with Peer.open(name="e", uri=self.server.uri) as p:
                must(p.read(1024 + 56, 2) == b"\x53\xef", "e: no ext4")
        if "z" in found:
            with Peer.open(name="z", uri=self.server.uri) as p:
                must(p.read(0, len(LAZY)) == LAZY, "z is not as its image")
        known = {"d0", "f", "n", "m", *self.sizes, *self.copies}
        must(set(found) <= known, "disks from nowhere:", set(found) - known)
        self.peer.close()

def clean():
    shutil.rmtree(pool, ignore_errors=True)

def daemon(where):
    os.mkdir(folder + where)
    return Daemon(program, folder + where, "-c", conf)

def sweep(name, run):
    """run("before:N") for N = 1, 2, ... until it says that nobody died; scaled."""
    for kind in ("before", "after"):
        n, died = 1, 0
        while run("%s:%d" % (kind, n)):
            died += 1
            # There are few in an upgrade.
            n += 1 if scale >= 1 or name == "upgrade" else \
                1 + int(random.random() * 2 / scale)
        print("%s, %s: died %d times, up to store %d" % (name, kind, died, n),
              flush=True)
        assert died >= 3

d = daemon("/scene")
def scene(when):
    clean()
    configure(FIRST)
    # It may die before it is ready.
    d.program, d.env["NBDRAM_TEST_DIE"] = dies, when
    c = Scene(d)
    over = False
    try:
        d.start()
        over = c.play()
    except AssertionError as e:
        assert d.process.poll() == -signal.SIGKILL, e
    if over:
        d.kill()
    assert d.ended() == -signal.SIGKILL, "it has not died by itself"
    d.program, d.env["NBDRAM_TEST_DIE"] = nbdramd, ""
    d.start()
    c.look()
    d.stop()
    return not over

def all_disks(d):
    """What stays as it is when nothing is done to them."""
    keys = ("uuid", "size", "alloc", "quota", "guarantee", "snapshot")
    with Control(d.control) as c:
        return {name: [c.ask("show", name=name)["disk"].get(k) for k in keys]
                for name in (d["name"] for d in c.ask("list")["disks"])}

u = daemon("/upgrade")
def upgrade(when):
    clean()
    install()
    configure(FIRST)
    u.start()
    c = Scene(u)
    c.connect()
    c.batches(4)
    c.ask("snapshot", name="d0", **{"as": "d0.s1"})
    c.batches(2)
    c.peer.close()
    before = all_disks(u)
    # It makes and grows disks before it serves.
    configure(THEN)
    install("#!/bin/sh\nNBDRAM_TEST_DIE=%s exec %s \"$@\"\n" % (when, dies))
    since = u.size_of_log()
    u.drain()
    os.kill(u.pid, signal.SIGUSR2)
    assert eventually(60, lambda: re.search("serves now|goes on",
                                            u.said(since)))
    died = "goes on" in u.said(since)
    if died:
        assert re.search("ended by signal 9 after it had been given the pool",
                         u.said(since)), u.said(since)
        assert u.hear("RELOADING=1") is not None
        assert u.hear("READY=1") is not None
    else:
        new = int(u.hear("MAINPID="))
        assert u.ended() == 0
        u.pid = new
    if died:
        c.look()
        after = all_disks(u)
        assert after == before, (before, after)
        c.connect()
        c.batches(2)
    # One that serves dies a little later, as in the scene.
    u.kill()
    install()
    u.start()
    c.look()
    u.stop()
    return died

with open(image, "wb") as f:
    f.write(b"image" * 40000)
    f.truncate(768 * 1024)
with open(lazy, "wb") as f:
    f.write(LAZY)
try:
    sweep("scene", scene)
    sweep("upgrade", upgrade)
finally:
    d.end()
    u.end()
    print(d.said()[-3000:])
    print(u.said()[-3000:])
assert "Sanitizer" not in d.said() + u.said()
END
