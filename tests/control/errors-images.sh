#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Images that cannot be: missing, unreadable, a folder, empty, damaged, cut off, no
# zstd; targets that cannot be written. Each is one clear line, and disk and file are
# as they were.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

requires_command zstd
mkdir "$tmp/files"
start_nbdramd -m 64M -e disk,size=8M -e big,size=40M
peer "$tmp/files" <<'END' || fail "wrong images"
import subprocess
folder = args[0]
path = lambda name: os.path.join(folder, name)
def make(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)
with Peer.open(name="disk") as p:
    p.write(0, pattern(1, 8 * MIB))
good = subprocess.run(["zstd", "-qc"], input=pattern(2, 2 * MIB), check=True,
                      stdout=subprocess.PIPE).stdout
damaged = bytearray(good)
damaged[MIB] ^= 0xff
os.mkdir(path("folder"))
os.mkdir(path("folder.zst"))
os.mkfifo(path("pipe"))
wrong = {
    "missing": "No such file",
    "missing/at/all": "No such file",
    "folder": "is a folder",
    "folder.zst": "is a folder",
    "pipe": "no regular file",
    "empty": "is empty",
    "empty.zst": "is empty",
    "raw.zst": "no file of zstd",
    "short.zst": "no file of zstd|cut off",
    "nothing.zst": "at least one byte",
    "damaged.zst": "damaged",
    "tail.zst": "damaged",
    "cut.zst": "cut off",
    "cut1.zst": "cut off",
    "cut2.zst": "cut off",
    "large": "larger than the disk",
    "large.zst": "larger than the disk",
}
make("empty", b"")
make("empty.zst", b"")
make("raw.zst", pattern(3, MIB))
make("short.zst", good[:3])
make("nothing.zst", subprocess.run(["zstd", "-qc"], input=b"", check=True,
                                   stdout=subprocess.PIPE).stdout)
make("damaged.zst", damaged)
make("tail.zst", good + b"tail of something")
make("cut.zst", good[:-1])
make("cut1.zst", good[:MIB])
make("cut2.zst", good[:-4])
make("large", bytes(8 * MIB + 1))
make("large.zst", subprocess.run(["zstd", "-qc"], input=bytes(8 * MIB + 1),
                                 check=True, stdout=subprocess.PIPE).stdout)
held = ask("show")["pool"]["held"]
generation = ask("show", name="disk")["disk"]["generation"]
for name, text in wrong.items():
    line = ctl("load", "disk", path(name), status=1)
    assert re.search(text, line) and name in line, (name, line)
    line = ctl("create", "new", "size=8M", "image=" + path(name), status=1)
    assert re.search(text, line), (name, line)
if os.getuid() != 0:
    os.chmod(make("closed", b"x" * 4096), 0)
    assert "Permission denied" in ctl("load", "disk", path("closed"), status=1)
# More than the pool has.
make("huge", pattern(4, 8 * MIB) * 12)
line = ctl("create", "new", "image=" + path("huge"), status=1)
assert "memory" in line, line
ctl("create", "q", "size=4M", "quota=1M")
make("four", pattern(5, 4 * MIB))
assert "quota" in ctl("load", "q", path("four"), status=1)
assert set(disks()) == {"disk", "big", "q"}, disks()
assert ask("show", name="disk")["disk"]["generation"] == generation
with Peer.open(name="disk") as p:
    assert p.read(0, 8 * MIB) == pattern(1, 8 * MIB)
assert eventually(60, lambda: ask("show")["pool"]["held"] <= held + MIB), ask("show")

# Targets.
os.symlink(path("elsewhere"), path("link.tmp"))
os.mkdir(path("tmp.tmp"))
for name, text in {"folder": "is a folder", "pipe": "no regular file",
                   "missing/file": "No such file", "four/file": "Not a directory",
                   "link": "cannot be made", "tmp": "cannot be made|in the way"}.items():
    line = ctl("save", "disk", path(name), status=1)
    assert re.search(text, line), (name, line)
assert not os.path.exists(path("elsewhere"))
ctl("save", "gone", path("new"), status=1)
assert not os.path.exists(path("new"))
if os.path.exists("/dev/full"):
    assert "no regular file" in ctl("save", "disk", "/dev/full", status=1)
# A hard link is not written through.
os.link(path("four"), path("hard.tmp"))
assert "in the way" in ctl("save", "disk", path("hard"), status=1)
assert open(path("four"), "rb").read() == pattern(5, 4 * MIB)
assert "whole path" in fails("usage", "save", name="disk", file="relative")
assert "whole path" in fails("usage", "load", name="disk", file="relative")
fails("usage", "save", name="disk")
END
# A file system that is full.
if mkdir "$tmp/small" && mount -t tmpfs -o size=4m none "$tmp/small" 2>/dev/null; then
	cleanup_fn umount "$tmp/small"
	echo old >"$tmp/small/disk.img"
	echo old >"$tmp/small/disk.zst"
	for name in disk.img disk.zst; do
		ctl save disk "$tmp/small/$name" 2>"$tmp/said" &&
			fail "a save where there is no room"
		cat "$tmp/said"
		grep -Eq 'are needed|no room' "$tmp/said" || fail "not said"
		[ "$(cat "$tmp/small/$name")" = old ] || fail "the old file is gone"
		[ ! -e "$tmp/small/$name.tmp" ] || fail "something is left"
	done
fi
stop_nbdramd
