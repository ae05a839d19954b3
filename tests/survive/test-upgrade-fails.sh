#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A new program that fails, in each way and at each step: the old one goes on, with
# one line in the log that says why. Clients of it find all they have written; before
# the new one is ready they do not even notice. Counts of the pool are true, those of
# requests go on, no descriptor is lost. A good one takes over in the end.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
for where in "$pool" ''; do
	mkdir "$tmp/folder${where:+1}"
	peer "$nbdramd" "$tmp/folder${where:+1}" "$where" "$python" <<'END' ||
import shutil
from survive import *
real, folder, pool, python = args
program, conf = folder + "/nbdramd", folder + "/conf"

def install(text=None, mode=0o755):
    if text is None:
        shutil.copy(real, program + ".new")
    else:
        with open(program + ".new", "w") as f:
            f.write(text)
    os.chmod(program + ".new", mode)
    os.rename(program + ".new", program)

def configure(size="256M", path=pool, more=""):
    with open(conf, "w") as f:
        f.write("[pool]\nsize = %s\nwarm = 4M\n%s%s\n" % (
            size, "path = %s\n" % path if path else "", "\n".join(
                "[export d%d]\nsize = 4M" % i for i in range(3)) + more))

# What a new one says and does, step by step.
fake = """#!%s
import os, signal, socket, sys, time
s = socket.socket(fileno=int(os.environ["NBDRAM_UPGRADE"]))
assert s.recvmsg(1 << 17, 4096)[0].startswith(b"nbdram-handover-1\\0")
def say(word):
    s.send(word)
def yours():
    assert s.recv(16) == b"yours"
def crash():
    os.kill(os.getpid(), signal.SIGSEGV)
def hang():
    time.sleep(1000)
%%s
""" % python

# One that is killed somewhere on its way.
killed = """#!/bin/sh
%s "$@" &
exec 3>&-
sleep %%s
kill -KILL $!
exit 9
""" % real

before, after = "before it was ready", "after it had been given the pool"
KINDS_ = [
    # what it is, its text, its mode, configuration, words in the line
    ("not executable", "#!/bin/sh\n", 0o644, {}, "cannot start"),
    ("no program", "no program\n", 0o755, {}, "cannot start|" + before),
    ("ends at once", "#!/bin/sh\nexit 3\n", 0o755, {},
     "status 3 " + before),
    ("crashes at once", "#!/bin/sh\nkill -SEGV $$\n", 0o755, {},
     "signal 11 " + before),
    ("hangs", "#!/bin/sh\nexec sleep 1000\n", 0o755, {},
     "silent for 10 s " + before),
    ("says nonsense", fake % "say(b'hello')\nhang()", 0o755, {}, "no sense"),
    ("claims to serve at once", fake % "say(b'serving')\nhang()", 0o755, {},
     "no sense"),
    ("works, and ends", fake % "say(b'working')", 0o755, {},
     "status 0 " + before),
    ("crashes once ready", fake % "say(b'ready')\ncrash()", 0o755, {},
     "signal 11 "),
    ("crashes with the pool", fake % "say(b'ready')\nyours()\ncrash()", 0o755,
     {}, "signal 11 " + after),
    ("hangs with the pool", fake % "say(b'ready')\nyours()\nhang()", 0o755,
     {}, "silent for 10 s " + after),
    ("says nonsense with the pool",
     fake % "say(b'ready')\nyours()\nsay(b'ready')\nhang()", 0o755, {},
     "no sense " + after),
    ("cannot read its configuration", None, 0o755, dict(size="many"),
     "status 1 " + before),
    ("wants another pool", None, 0o755, dict(path=folder + "/other"),
     "status 1 " + before),
    ("wants no pool, or one", None, 0o755,
     dict(path=None if pool else folder + "/p"), "status 1 " + before),
    ("finds the pool too small", None, 0o755, dict(size="4M"),
     "status 1 " + after),
    ("cannot have its disks", None, 0o755,
     dict(more="\n[export grown]\nsize = 8M\n"
          "[export large]\nsize = 2G\nalloc = fixed\n"),
     "status 1 " + after),
    ("would cut a disk", None, 0o755,
     dict(more="\n[export grown]\nsize = 8M\n[export d9]\nsize = 1M\n"),
     "status 1 " + after),
] + [("is killed after %d ms" % n, killed % (n / 1000), 0o755,
      dict(more="\n[export grown%d]\nsize = 64M\nalloc = fixed\n" % n), "")
     for n in (1, 5, 10, 15, 20, 30, 40, 60)]
if not pool:
    # What happens before is the same; and what served and was killed took the
    # disks with it.
    KINDS_ = [k for k in KINDS_ if after in k[4] and "hangs" not in k[0] or
              "wants" in k[0]]

adopt_children()
install()
configure(more="\n[export d9]\nsize = 4M\n")
d = Daemon(program, folder, "-c", conf).start()
try:
    with Peer.open(name="d9", uri=d.uri) as p:
        p.write(3 * MIB, b"at the end")
    clients = work(d, 3, 1024, os.environ["NBDRAM_TEST_SEED"], cut=False)
    first = d.pid
    counted = 0
    def check():
        """Counts are true."""
        progress(clients, 2)
        global counted
        with Control(d.control) as c:
            c.ask("check")
            n = c.ask("stats")["server"]["accepted"]
        assert n >= counted, (n, counted)
        counted = n
    check()
    fds = descriptors(d.pid)
    for name, text, mode, config, words in KINDS_:
        print("---", name, flush=True)
        config = dict(config)
        if "d9" not in config.get("more", ""):
            config["more"] = config.get("more", "") + \
                "\n[export d9]\nsize = 4M\n"
        configure(**config)
        install(text, mode)
        if name.startswith("is killed"):
            # It may have been quick enough.
            since = d.size_of_log()
            d.drain()
            os.kill(d.pid, signal.SIGUSR2)
            eventually(30, lambda: re.search("serves now|goes on",
                                             d.said(since)))
            said = d.said(since)
            if "serves now" in said:
                # And was killed then: a start after that finds all.
                print("it served already")
                d.hear("MAINPID=")
                assert d.ended() == 0
                time.sleep(.1)
                install()
                configure(more="\n[export d9]\nsize = 4M\n")
                d.start()
                first, fds, counted = d.pid, None, 0
                continue
            assert d.hear("RELOADING=1") is not None
            assert d.hear("READY=1") is not None
        else:
            said = d.upgrade_fails()
        assert d.pid == first
        lines = [l for l in said.split("\n") if "error: upgrade: " in l]
        assert len(lines) == 1, said
        assert re.search(words, lines[0]), said
        assert lines[0].endswith("this one goes on") or \
            "meanwhile" in lines[0], lines
        check()
        if fds is None:
            fds = descriptors(d.pid)
        # Those of clients come and go.
        assert eventually(20, lambda: descriptors(d.pid) <= fds + 6), \
            (descriptors(d.pid), fds)
        with Peer.open(name="d9", uri=d.uri) as p:
            assert p.size == 4 * MIB
            assert p.read(3 * MIB, 10) == b"at the end"
        assert os.path.exists(d.path) and os.path.exists(d.control)
    # It reloads as ever, and a good one takes over.
    install()
    configure(more="\n[export d9]\nsize = 4M\n[export new]\nsize = 1M\n")
    with Control(d.control) as c:
        c.ask("reload")
    Peer.open(name="new", uri=d.uri).close()
    d.upgrade()
    counted = 0
    check()
    Peer.open(name="new", uri=d.uri).close()
    for c in clients:
        c.stop()
    with Control(d.control) as c:
        c.ask("check")
    d.stop()
    assert not os.path.exists(d.path) and not os.path.exists(d.control)
finally:
    d.end()
    print(re.sub("(?m)^.*(opened|listening).*\n", "", d.said())[-9000:])
assert "Sanitizer" not in d.said() and "runtime error" not in d.said()
END
		fail "with the pool in: ${where:-memory}"
done
