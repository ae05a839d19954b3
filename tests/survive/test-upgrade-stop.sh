#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGTERM while the old server waits for the new one to serve: both end, each in its
# own way, however far the new one has come; one that does not is made to. Nobody is
# killed who has said that it serves.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
mkdir "$tmp/folder"
peer "$nbdramd" "$tmp/folder" "$pool" "$python" <<'END' || fail "see above"
import shutil
from survive import *
real, folder, pool, python = args
program, ended = folder + "/nbdramd", folder + "/ended"
adopt_children()

# What a new one does once SIGTERM has come to it.
fake = """#!%s
import os, signal, socket, sys, time
s = socket.socket(fileno=int(os.environ["NBDRAM_UPGRADE"]))
assert s.recvmsg(1 << 17, 4096)[0].startswith(b"nbdram-handover-1\\0")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
s.send(b"ready")
assert s.recv(16) == b"yours"
open(%r + "/waits", "w").close()
%%s
""" % (python, folder)
in_its_own_way = """
time.sleep(.5)
open(%r, "w").write("ended")
""" % ended

def install(text=None):
    if text is None:
        shutil.copy(real, program + ".new")
    else:
        with open(program + ".new", "w") as f:
            f.write(text)
    os.chmod(program + ".new", 0o755)
    os.rename(program + ".new", program)

def gone(path):
    if os.path.exists(path):
        os.unlink(path)

def bury(stop=False):
    """Whoever is left is ours by now, and ends with 0, if it is not killed."""
    until = time.monotonic() + 30
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
        assert time.monotonic() < until, "it does not end"
        if stop and not pid and time.monotonic() > until - 27:
            print("it serves on", flush=True)
            for child in children():
                os.kill(child, signal.SIGTERM)
            stop = False
        time.sleep(.02)

d = Daemon(program, folder, "-m", "64M", "-p", pool, "-e", "d0,size=4M")
def once(text, words, well, serves=False):
    """The old one ends within 5 s; the new one has ended by itself, or not."""
    gone(ended)
    gone(folder + "/waits")
    install()
    d.start()
    with Peer.open(name="d0", uri=d.uri) as p:
        p.write(0, b"kept")
    install(fake % text)
    since = d.size_of_log()
    d.drain()
    os.kill(d.pid, signal.SIGUSR2)
    assert eventually(60, lambda: os.path.exists(folder + "/waits"))
    began = time.monotonic()
    os.kill(d.pid, signal.SIGTERM)
    told = None
    # Who is to be told that it lives must be heard.
    while d.process.poll() is None and time.monotonic() < began + 30:
        told = d.hear("MAINPID=", .1) or told
    status = d.ended(1)
    took = time.monotonic() - began
    said = d.said(since)
    print("%.2f s, %s" % (took, said[-1000:]), flush=True)
    assert status == 0, status
    assert took < (5 if not slow else 15), took
    assert re.search(words, said), said
    assert ((told or d.hear("MAINPID=", 1)) is not None) == serves
    # It is ours now, if it was not made to end.
    assert eventually(20, lambda: os.path.exists(ended)) == well or not well
    bury()
    assert os.path.exists(ended) == well

try:
    # It serves, and that is not heard yet when the signal comes.
    once("signal.sigwait([signal.SIGTERM])\ns.send(b'serving')\n" +
         in_its_own_way, "serves now, this one ends", True, serves=True)
    once("s.send(b'working')\nsignal.sigwait([signal.SIGTERM])\n"
         "s.send(b'working')\ns.send(b'serving')\n" + in_its_own_way,
         "serves now, this one ends", True, serves=True)
    # It does not serve yet.
    once("signal.sigwait([signal.SIGTERM])\n" + in_its_own_way,
         "ended with status 0 after it had been given", True)
    # It does neither.
    once("time.sleep(1000)", "does not stop after it had been given", False)
    # A real one, at any time.
    for i in range(max(10, int(100 * scale))):
        install()
        if d.process.poll() is not None:
            d.start()
        since = d.size_of_log()
        os.kill(d.pid, signal.SIGUSR2)
        time.sleep(random.random() * .08 * (3 if slow else 1))
        os.kill(d.pid, signal.SIGTERM)
        while d.process.poll() is None:
            d.hear("nothing", .1)
        assert d.ended() == 0
        # The signal may have come when the old one was through already.
        bury(stop=True)
    install()
    d.start()
    with Peer.open(name="d0", uri=d.uri) as p:
        assert p.read(0, 4) == b"kept"
    with Control(d.control) as c:
        c.ask("check")
    d.stop()

    # Memory that ends with us is saved, though the new one was given it already.
    saved = folder + "/saved.img"
    os.mkdir(folder + "/second")
    d = Daemon(program, folder + "/second", "-m", "64M", "-e", "d0,size=4M,save=" + saved)
    once("signal.sigwait([signal.SIGTERM])\n" + in_its_own_way, "d0: saved to",
         True)
    with open(saved, "rb") as f:
        assert f.read(4) == b"kept"
finally:
    d.end()
    print(d.said()[-4000:])
assert "Sanitizer" not in d.said()
END
