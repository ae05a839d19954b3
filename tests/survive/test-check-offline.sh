#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `nbdramctl check FOLDER` on a pool that nobody has open and on copies of it: sound as
# it is; with bits flipped, words replaced, cut off, it says in one line what is wrong,
# or that it is sound; then nbdramd takes it, and refuses it else, with one line, and
# leaves it as it is. Never a crash. (In process, and many more: store/test-store-flips.)
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
start_nbdramd -p "$pool" -m 16M -o warm=0 -e a,size=9M -e b,size=1T \
	-e c,size=64K,alloc=fixed -e d,clone=a
peer <<'END' || fail "writing"
for name, places in (("a", range(0, 9 * MIB, 65536)),
                     ("b", (0, 2 * MIB - 4096, 1 << 30, 512 << 30)),
                     ("c", (4096,)), ("d", range(0, MIB, 8192))):
    with Peer.open(name=name) as p:
        for at in places:
            p.write(at, pattern(at, 5000)[:min(5000, p.size - at)])
ask("snapshot", name="a", **{"as": "kept"})
Peer.open(name="a").write(3 * MIB, b"later")
END
# Not while somebody has it open: who that is is said.
! "$nbdramctl" check "$pool" >"$tmp/out" 2>"$tmp/err" || fail "it is open"
grep -qx "nbdramctl: $pool: process $pid has this pool open; .*" "$tmp/err" ||
	fail "what was said of a pool that is open: $(cat "$tmp/err")"
ctl check >"$tmp/online" || fail "check of nbdramd"
stop_nbdramd
"$nbdramctl" check "$pool" >"$tmp/offline" || fail "check of the pool"
cat "$tmp/online" "$tmp/offline"
[ "$(sed 's/,.*//' "$tmp/online")" = "$(sed 's/,.*//' "$tmp/offline")" ] ||
	fail "other disks than nbdramd finds"
"$nbdramctl" --json check "$pool" | grep -q '"disks": 5' || fail "JSON"

# A copy on any file system, under any rights.
mkdir -m 755 "$tmp/copy"
cp "$pool/pool" "$tmp/copy/pool"
chmod 444 "$tmp/copy/pool"
"$nbdramctl" check "$tmp/copy" || fail "check of a copy"

# wrong_check PATTERN FOLDER
wrong_check()
{
	"$nbdramctl" check "$2" >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] || fail "exit status for $2"
	[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ] ||
		fail "not one line for $2"
	grep -Eq "^nbdramctl: $2.*($1)" "$tmp/err" ||
		fail "no '$1' in: $(cat "$tmp/err")"
}
mkdir "$tmp/empty" "$tmp/odd"
wrong_check 'No such file' "$tmp/none"
wrong_check 'No such file' "$tmp/empty"
wrong_check 'Not a directory' "$tmp/copy/pool"
mkfifo "$tmp/odd/pool"
wrong_check 'not a plain file' "$tmp/odd"
rm "$tmp/odd/pool"
: >"$tmp/odd/pool"
wrong_check 'not a pool of nbdram' "$tmp/odd"
head -c 100000 /dev/urandom >"$tmp/odd/pool"
wrong_check 'not a pool of nbdram' "$tmp/odd"

mkdir -m 700 "$pool/flips"
printf '[pool]\nsize = 16M\nwarm = 0\n[server]\nworkers = 1\n' >"$tmp/conf"
peer "$nbdramd" "$nbdramctl" "$pool" "$(scaled 500 40)" "$tmp" <<'END' ||
import hashlib, signal, subprocess
nbdramd, nbdramctl, pool, rounds, folder = args
file, damaged = pool + "/flips/pool", pool + "/flips"
with open(pool + "/pool", "rb") as f:
    whole = f.read()
tables, slots = [], []
def word(block, i):
    return struct.unpack_from("<Q", whole, block * 4096 + i * 8)[0]
def walk(entry, level, visit):
    if entry < 2:
        return
    if level == 0:
        visit(entry)
        return
    tables.append(entry)
    for i in range(512):
        walk(word(entry, i), level - 1, visit)
def slot(block):
    slots.append(block)
    root = word(block, 2)
    walk(root >> 3, root & 7, lambda data: None)
root = struct.unpack_from("<Q", whole, 64)[0]
walk(root >> 3, root & 7, slot)
assert len(slots) == 5 and len(tables) > 10, (slots, tables)

def change():
    """The file with something wrong in it, and what."""
    data = bytearray(whole)
    what = []
    for n in range(random.choice((1, 1, 1, 3))):
        block = random.choice((0, random.choice(tables), random.choice(tables),
                               random.choice(slots),
                               random.randrange(len(whole) // 4096)))
        at = block * 4096 + random.randrange(
            80 if block == 0 else 600 if block in slots else 4096)
        if block in tables and random.random() < .7:
            # Where something is.
            used = [i for i in range(512) if word(block, i)]
            at = block * 4096 + random.choice(used) * 8 + random.choice(
                (0, 0, 0, 1, 2, 7))
        if random.random() < .5:
            data[at] ^= 1 << random.randrange(8)
        else:
            at &= ~7
            struct.pack_into("<Q", data, at, random.choice((
                0, 1, 2, at // 4096, len(whole) // 4096, 2**64 - 1, 2**63,
                random.choice(tables), random.choice(slots),
                random.getrandbits(64))))
        what.append(at)
    if random.random() < .1:
        data = data[:random.randrange(len(data))]
        what.append("cut to %d" % len(data))
    return data, what

def digest():
    with open(file, "rb") as f:
        return hashlib.sha256(f.read()).digest()

def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)

def serve():
    """Status and lines of a nbdramd that is stopped once it serves."""
    told = folder + "/told"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(told)
        s.settimeout(.05)
        p = subprocess.Popen(
            [nbdramd, "-c", folder + "/conf", "-p", damaged, "-l",
             "unix:" + folder + "/s", "-s", folder + "/c"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.STDOUT, env=dict(os.environ, NOTIFY_SOCKET=told))
        while p.poll() is None:
            try:
                if b"READY=1" in s.recv(4096):
                    with Control(folder + "/c") as c:
                        c.ask("check")
                    p.send_signal(signal.SIGTERM)
                    break
            except TimeoutError:
                pass
        out = p.communicate(timeout=60)[0]
    os.unlink(told)
    return p.returncode, out

sound = refused_ = 0
for round in range(int(rounds)):
    data, what = change()
    with open(file, "wb") as f:
        f.write(data)
    os.chmod(file, 0o600)
    before = digest()
    checked = run(nbdramctl, "check", damaged)
    assert digest() == before, what
    assert checked.returncode in (0, 1), (what, checked)
    status, said = serve()
    if checked.returncode == 0:
        assert not checked.stderr and checked.stdout.startswith("sound: ")
        assert status == 0, (what, status, said)
        sound += 1
    else:
        assert checked.stderr.count("\n") == 1 and not checked.stdout, checked
        assert checked.stderr.startswith("nbdramctl: " + damaged), checked
        assert checked.stderr.isascii() and checked.stderr[:-1].isprintable()
        assert status == 1, (what, status, said, checked)
        errors = [l for l in said.split("\n") if "error: " in l]
        assert len(errors) == 1 and damaged in errors[0], (what, said)
        assert digest() == before, (what, "the server has changed it")
        refused_ += 1
print("%d sound, %d refused" % (sound, refused_))
assert sound and refused_
END
	fail "flips"
