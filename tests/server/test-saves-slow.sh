#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A save at the end that lasts: systemd is told, a second SIGTERM ends it, and the old
# file is whole then. A save while the pool gets full gives up, and is made later. Where
# files can share what they have in common, only what differs is written.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

slow_files
mkdir "$tmp/files"
peer "$nbdramd" "$tmp" <<'END' || fail "see above"
import signal, subprocess
program, folder = args
sock = folder + "/notify"
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sock)
heard.settimeout(60)
def hear(pattern):
    while True:
        text = heard.recv(4096).decode()
        if re.search(pattern, text, re.M):
            return text
def start(*words, **env):
    p = subprocess.Popen(
        [program, "-l", "unix:" + folder + "/nbd", "-s", folder + "/c", *words],
        env=dict(os.environ, LD_PRELOAD=folder + "/slow.so", NOTIFY_SOCKET=sock,
                 NBDRAM_TEST_WRITTEN=folder + "/written", **env),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    hear("READY=1")
    os.environ["NBDRAM_CONTROL"] = folder + "/c"
    return p
uri = "nbd+unix:///?socket=" + folder + "/nbd"
os.environ["NBD_URI"] = uri
def opened():
    return Peer.open(name="a")
img = folder + "/files/a.img"
def written():
    try:
        with open(folder + "/written") as f:
            n = [int(line) for line in f]
        os.unlink(folder + "/written")
    except FileNotFoundError:
        n = []
    return sum(n)

# The second signal.
with open(img, "wb") as f:
    f.write(b"old")
d = start("-m", "64M", "-e", "a,size=16M,save=" + img, NBDRAM_TEST_SLOW_MSEC="500")
try:
    with opened() as p:
        p.write(0, pattern(1, 16 * MIB))
    began = time.monotonic()
    os.kill(d.pid, signal.SIGTERM)
    hear("EXTEND_TIMEOUT_USEC=")
    hear("STATUS=Saving a: [1-9][0-9]* of 16 MiB")
    os.kill(d.pid, signal.SIGTERM)
    said = d.communicate(timeout=60)[0]
    print(said)
    assert d.returncode == 1 and "a second signal" in said
    assert open(img, "rb").read() == b"old" and os.listdir(folder + "/files") == ["a.img"]
    assert time.monotonic() - began < 25
finally:
    d.kill()
written()

# A pool that gets full.
os.unlink(img)
d = start("-m", "24M", "-o", "full=error", "-e", "a,size=12M,save-every=1s,save=" + img,
          NBDRAM_TEST_SLOW_MSEC="100")
try:
    with opened() as p:
        p.write(0, pattern(1, 12 * MIB))
        # Each save holds what it began with, until there is no room for both.
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                for k in range(12):
                    p.write(k * MIB, pattern(random.getrandbits(30), MIB))
            except Refused:
                break
        else:
            raise AssertionError("it was never full")
        assert eventually(60, lambda: os.path.exists(img))
    os.kill(d.pid, signal.SIGTERM)
    said = d.communicate(timeout=60)[0]
    print(said)
    assert d.returncode == 0
    assert re.search("not saved: .*the pool (has become|is) full.*tried again", said)
finally:
    d.kill()
os.unlink(img)
written()

# What is shared is not written.
for clones, most in ((None, None), ("1", 64 * 1024)):
    env = {"NBDRAM_TEST_CLONES": clones} if clones else {}
    d = start("-m", "64M", "-e", "a,size=16M,save=" + img, **env)
    try:
        with opened() as p:
            p.write(0, pattern(5, 8 * MIB))
            ctl("save", "a")
            assert written() == 8 * MIB or clones
            inode = os.stat(img).st_ino
            p.write(3 * MIB + 10, b"changed")
            p.write(6 * MIB, pattern(6, 8192))
            p.trim(4 * MIB, 12288)
            ctl("save", "a")
            n = written()
            print("clones:", clones, "written:", n)
            assert os.stat(img).st_ino != inode
            want = p.read(0, 16 * MIB)
            assert open(img, "rb").read() == want
            assert n <= most if most else n > 7 * MIB
            p.trim(0, 16 * MIB)
            ctl("save", "a")
            assert not any(open(img, "rb").read())
            assert written() <= 64 * 1024
            # A file that somebody else has written comes out right too.
            with open(img, "r+b") as f:
                f.truncate(3 * MIB)
                f.write(pattern(9, MIB))
            p.write(9 * MIB, pattern(1, MIB))
            ctl("save", "a")
            assert open(img, "rb").read() == p.read(0, 16 * MIB)
            written()
    finally:
        os.kill(d.pid, signal.SIGTERM)
        said = d.communicate(timeout=60)[0]
        print(said)
    assert d.returncode == 0
    os.unlink(img)
    written()
END
