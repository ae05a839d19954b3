#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A save or load that is cut: by Ctrl-C, by kill -9 at any point; two saves to one file;
# a pool that gets full meanwhile. The file is the old one or the new one, the disk too,
# and nothing is left of what was not finished.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
conf=$tmp/conf
cat >"$conf" <<END
[pool]
size = 400M
path = $pool
full = wait 30s
[export disk]
size = 128M
END
mkdir "$tmp/files"
start_nbdramd -c "$conf"
cat >"$tmp/part.py" <<'END'
import subprocess, threading
folder = args[0]
img, zst = folder + "/a.img", folder + "/a.zst"
def old(name):
    with open(name, "rb") as f:
        return f.read(100) == b"old"
def begin(*words):
    """nbdramctl, once the daemon is at it: when it says how far it is."""
    c = Control()
    c.request(words[0], name=words[1], file=words[2])
    return c
END
{
	cat "$tmp/part.py" - <<'END'
with Peer.open(name="disk") as p:
    for i in range(0, 128, 8):
        p.write(i * MIB, pattern(i, 8 * MIB))
for name in (img, zst):
    open(name, "wb").write(b"old")
# Cancelled: who has begun it goes.
held = ask("show")["pool"]["held"]
for name in (img, zst):
    c = begin("save", "disk", name)
    assert eventually(60, lambda: os.path.exists(name + ".tmp"))
    c.s.close()
    assert eventually(60, lambda: not os.path.exists(name + ".tmp"))
    # It may have been through already.
    if not old(name):
        assert os.stat(name).st_size > 100
        open(name, "wb").write(b"old")
# One at a time to one file.
c = begin("save", "disk", zst)
assert eventually(60, lambda: os.path.exists(zst + ".tmp"))
try:
    ask("save", name="disk", file=zst)
except Failed as e:
    assert e.code == "in-use", e
c.answer()
assert not old(zst) and not os.path.exists(zst + ".tmp")
open(zst, "wb").write(b"old")
ctl("save", "disk", folder + "/good.img")
# A load that is cancelled leaves the disk.
generation = ask("show", name="disk")["disk"]["generation"]
c = begin("load", "disk", folder + "/good.img")
c.s.close()
time.sleep(.2)
assert ask("show", name="disk")["disk"]["generation"] in (generation, generation + 1)
assert eventually(60, lambda: ask("show")["pool"]["held"] <= held + 4 * MIB), ask("show")
ask("check")
END
} >"$tmp/program.py"
peer "$tmp/files" <"$tmp/program.py" || fail "cancelled"

for ((i = 0; i < $(scaled 40 4); i++)); do
	for what in save load; do
		file=a.img
		[ $((i % 2)) = 0 ] || file=a.zst
		[ $what = save ] || file=good.img
		timeout 60 "$nbdramctl" -s "$control" $what disk \
			"$tmp/files/$file" >/dev/null 2>&1 &
		client=$!
		sleep "0.0$((RANDOM % 10))"
		kill_nbdramd
		wait "$client" && : >"$tmp/files/finished"
		start_nbdramd -c "$conf"
		{
			cat "$tmp/part.py" - <<'END'
for name in (img, zst):
    if not old(name):
        # The new one, and all of it.
        data = open(name, "rb").read() if name == img else subprocess.run(
            ["zstd", "-dc", name], check=True, stdout=subprocess.PIPE).stdout
        assert len(data) == 128 * MIB and data[-8 * MIB:] == pattern(120, 8 * MIB)
        open(name, "wb").write(b"old")
with Peer.open(name="disk") as p:
    for k in range(0, 128, 8):
        assert p.read(k * MIB, 8 * MIB) == pattern(k, 8 * MIB), k
assert set(disks()) == {"disk"}, disks()
ask("check")
END
		} >"$tmp/program.py"
		peer "$tmp/files" <"$tmp/program.py" || fail "after kill -9 in a $what"
	done
done
# A save uses again what a killed one has left.
: >"$tmp/files/a.img.tmp"
ctl save disk "$tmp/files/a.img" || fail "a save over what is left"
[ ! -e "$tmp/files/a.img.tmp" ] || fail "it is still there"
stop_nbdramd
