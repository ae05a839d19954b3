#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A mkfs that fails, is killed, hangs, leaves others behind, writes too much, or behind
# the end: nothing of it is left, and it has nothing of ours.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mkdir "$tmp/bin"
export PATH=$tmp/bin:$PATH
mkfs()
{
	printf '#!/bin/bash\necho $$ >>"%s/pids"\n%s\n' "$tmp" "$2" >"$tmp/bin/mkfs.$1"
	chmod 755 "$tmp/bin/mkfs.$1"
}
mkfs good 'ls -l /proc/self/fd >"'"$tmp"'/fds"; env >"'"$tmp"'/env"; printf good >"$1"'
mkfs fails 'echo out of luck >&2; echo "second  line"; exit 3'
mkfs silent 'exit 1'
mkfs killed 'echo last words; kill -KILL $$'
mkfs hangs 'echo I hang; sleep 1000 & echo $! >>"'"$tmp"'/pids"; trap "" TERM; sleep 1000'
mkfs leaves 'sleep 1000 & echo $! >>"'"$tmp"'/pids"; printf left >"$1"'
mkfs chatters 'head -c 3000000 /dev/zero | tr "\0" x; printf chat >"$1"'
mkfs huge 'head -c 1000000000 /dev/urandom >"$1"'
mkfs larger 'truncate -s 2M "$1"'
mkfs smaller 'printf small >"$1"; truncate -s 5 "$1"'
mkfs noise 'head -c 30000000 /dev/urandom >"$1"'
printf 'nothing' >"$tmp/bin/mkfs.odd"
chmod 755 "$tmp/bin/mkfs.odd"
start_nbdramd -m 64M -e disk,size=1M
peer "$tmp" <<'END' || fail "see above"
import select, signal, stat
folder = args[0]
def create(format, size="1M"):
    return ["create", format, "size=" + size, "format=" + format]
def gone():
    """Of all that was started nothing is there."""
    with open(folder + "/pids") as f:
        for pid in f.read().split():
            try:
                with open("/proc/%s/stat" % pid) as s:
                    if s.read().split(")")[1].split()[0] != "Z":
                        return False
            except (FileNotFoundError, ProcessLookupError):
                pass
    return True
held = ask("show")["pool"]["held"]
def contents(name, n):
    with Peer.open(name=name) as p:
        return p.read(0, n)
ctl(*create("good"))
assert contents("good", 5) == b"good\0"
with open(folder + "/fds") as f:
    fds = {int(n): to for n, to in re.findall(r" ([0-9]+) -> (.*)", f.read())}
# One is that of the folder itself, which ls reads.
assert set(fds) <= {0, 1, 2, 3, 4} and fds[0] == "/dev/null", fds
with open(folder + "/env") as f:
    names = {line.split("=")[0] for line in f}
assert not {n for n in names if n.startswith(("NOTIFY", "NBD"))}, names
for name, words in {"fails": r"\(3\): out of luck second line$",
                    "silent": r"\(1\): it has said nothing$",
                    "killed": "signal 9: last words$",
                    "odd": "cannot be started|has failed",
                    "larger": "behind the end",
                    "huge": "memory"}.items():
    line = ctl(*create(name, "1G" if name == "huge" else "1M"), status=1)
    assert re.search("mkfs." + name + ".*" + words, line), line
assert gone()
for name, data in {"leaves": b"left", "chatters": b"chat", "smaller": b"small"}.items():
    ctl(*create(name))
    assert contents(name, 5).rstrip(b"\0") == data, name
assert gone()
assert disks()["smaller"]["size"] == MIB
line = ctl(*create("noise", "40M"))
ctl("delete", "noise")
# One that hangs is ended when who asked for it goes, or the daemon does.
with Control() as c:
    c.request("create", name="hangs", keys=["size=1M", "format=hangs"])
    assert eventually(60, lambda: not gone())
    # Others go on.
    ctl("create", "other", "size=1M")
    ctl("delete", "other")
assert eventually(60, gone)
for name in ("good", "leaves", "chatters", "smaller"):
    ctl("delete", name)
assert set(disks()) == {"disk"}, disks()
assert eventually(60, lambda: ask("show")["pool"]["held"] <= held + 65536), ask("show")
c = Control()
c.request("create", name="hangs", keys=["size=1M", "format=hangs"])
assert eventually(60, lambda: not gone())
os.kill(int(pid), signal.SIGTERM)
assert eventually(60, gone)
END
ended_nbdramd "$pid" "$(date +%s%N)" || fail "it has not ended well"
# One that hangs while the daemon starts is ended with it.
"$nbdramd" -l "unix:$tmp/s" -s "$tmp/c" -m 64M -e a,size=1M,format=hangs 2>"$tmp/said" &
pid=$!
wait_for 60 grep -q . "$tmp/pids"
: >"$tmp/pids"
kill -TERM "$pid"
wait_for 60 eval '! kill -0 "$pid" 2>/dev/null' || fail "it does not end"
wait_for 60 eval '! pgrep -f "$tmp/bin/mkfs.hangs"' || fail "mkfs is still there"
