#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# format = NAME with label, block and files, of exports, templates and nbdramctl create:
# the file system is there when a client opens the disk, whichever mkfs is installed; not
# made again on a disk that is there; but by reset, and anew for each session.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

PATH=$PATH:/usr/sbin:/sbin
requires_command mkfs.ext4 e2fsck debugfs dumpe2fs
new_pool
mkdir -p "$tmp/files/folder"
echo hello >"$tmp/files/folder/file"
printf '%s\n' '[pool]' 'size = 256M' "path = $pool" \
	'[export ext4]' 'size = 1G' 'format = ext4' 'label = scratch' 'block = 1K' \
	"files = $tmp/files" \
	'[export copy]' 'clone = ext4' 'format = none-such' \
	'[template tmp-*]' 'size = 64M' 'format = ext2' 'label = a label' \
	'[template each-*]' 'size = 32M' 'format = ext4' 'fresh = always' \
	'[template bad-*]' 'size = 32M' 'format = none-such' >"$conf"
start_nbdramd -c "$conf" -l "unix:$tmp/nbd"
uri="nbd+unix:///?socket=$tmp/nbd"
grep -q 'export ext4: formatted as ext4' "$log" || fail "the log does not say so"
cat >"$tmp/look.py" <<'END'
import subprocess, uuid
folder = args[0]
def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True,
                          timeout=120).stdout
def image(name):
    """The disk as a file, sparse."""
    path = "%s/%s.img" % (folder, name)
    ctl("save", name, path)
    return path
def header(path, what):
    return re.search(r"%s: +(.*)" % what, run("dumpe2fs", "-h", path)).group(1)
END
cat "$tmp/look.py" - <<'END' | peer "$tmp" || fail "file systems"
path = image("ext4")
run("e2fsck", "-fn", path)
assert os.stat(path).st_size == 1 << 30
assert header(path, "Filesystem volume name") == "scratch"
assert header(path, "Block size") == "1024"
assert run("debugfs", "-R", "cat /folder/file", path) == "hello\n"
# Zeroes take nothing.
assert disks()["ext4"]["held"] < 32 * MIB, disks()
assert disks()["copy"]["size"] == 1 << 30
p = Peer.open(name="tmp-1")
path = image("tmp-1")
run("e2fsck", "-fn", path)
assert header(path, "Filesystem volume name") == "a label"
# What was written stays, until it is reset.
p.write(1024, bytes(1024))
p.disc()
assert p.closed()
with Peer.open(name="tmp-1") as p:
    assert p.read(1024, 1024) == bytes(1024)
assert eventually(30, lambda: not ask("clients")["clients"])
ctl("reset", "tmp-1")
run("e2fsck", "-fn", image("tmp-1"))
with Peer.open(name="ext4") as p:
    p.write(0, bytes(MIB))
assert eventually(30, lambda: not ask("clients")["clients"])
ctl("reset", "ext4")
path = image("ext4")
run("e2fsck", "-fn", path)
assert header(path, "Filesystem volume name") == "scratch"
# Each session has one of its own.
seen = set()
for i in range(3):
    with Peer.open(name="each-1") as p:
        path = image("each-1")
        run("e2fsck", "-fn", path)
        seen.add(header(path, "Filesystem UUID"))
        p.write(0, pattern(1, MIB))
    assert eventually(30, lambda: not ask("clients")["clients"])
assert len(seen) == 3, seen
refused("ERR_POLICY", Peer().hello().go, "bad-1")
assert "bad-1" not in disks()
# By command, and what goes wrong.
ctl("create", "made", "size=64M", "format=ext4", "label=made", "files=files", cwd=folder)
assert run("debugfs", "-R", "cat /folder/file", image("made")) == "hello\n"
for keys, status, words in (
        (("size=64M", "format=none-such"), 1, "mkfs.none-such: there is no such program"),
        (("size=64M", "format=ext4", "files=/none/such"), 1,
         "mkfs.ext4: has failed.*/none/such"),
        (("size=64M", "format=ext4", "block=3000"), 1, "block = 3000: a power of two"),
        (("size=64M", "format=ext4", "block=64K", "files=/etc/none"), 1, "has failed"),
        (("size=4K", "format=ext4"), 1, "mkfs.ext4: has failed"),
        (("size=64M", "label=x"), 2, "label means nothing without format"),
        (("size=64M", "format=a/b"), 2, "a word"),
        (("format=ext4",), 2, "how large"),
        (("size=64M", "format=none-such", "label=x"), 1, "cannot be told of a label")):
    line = ctl("create", "wrong", *keys, status=status)
    assert re.search(words, line), (keys, line)
assert "wrong" not in disks()
assert "format= out" in fails("usage", "clone", **{"from": "made", "to": "x",
                                                   "keys": ["format=ext4"]})
ask("check")
END
grep -q 'bad-1: mkfs.none-such: there is no such program' "$log" ||
	fail "the log does not say why"
kill_nbdramd
# What is in the pool is given as it is.
rm -r "$tmp/files"
start_nbdramd -c "$conf"
cat "$tmp/look.py" - <<'END' | peer "$tmp" || fail "after a restart"
run("e2fsck", "-fn", image("ext4"))
END
stop_nbdramd

# Each program that there is, with all that it can be told.
start_nbdramd -m 256M -e small,size=1M
cat "$tmp/look.py" - <<'END' | peer "$tmp" || fail "each mkfs"
import shutil
magic = {"ext3": (0x438, b"\x53\xef"), "xfs": (0, b"XFSB"),
         "btrfs": (0x10040, b"_BHRfS_M"), "vfat": (0x52, b"FAT32"),
         "exfat": (3, b"EXFAT"), "ntfs": (3, b"NTFS"),
         "swap": (4086, b"SWAPSPACE2")}
seen = []
for name, (off, what) in magic.items():
    program = "mkswap" if name == "swap" else "mkfs." + name
    if not shutil.which(program):
        continue
    seen.append(name)
    ctl("create", name, "size=1G", "format=" + name, "label=NAME", "block=4K")
    with open(image(name), "rb") as f:
        data = f.read(40 * MIB)
    assert data[off:off + len(what)] == what, name
    assert b"NAME" in data or "NAME".encode("utf-16le") in data, name
    if name not in ("ext3", "btrfs"):
        assert "cannot be told of files" in fails(
            "failed", "create", name="files",
            keys=["size=1G", "format=" + name, "files=" + folder])
    ctl("delete", name)
print(seen)
END
stop_nbdramd
wrong 1 'mkfs.none-such: there is no such program' -l "unix:$tmp/s" -m 64M \
	-e "a,size=1M,format=none-such"
wrong 1 'mkfs.none-such: there is no such program' -t -l "unix:$tmp/s" -m 64M \
	-e "a,size=1M,format=none-such"
wrong 1 'cannot be told of files' -t -l "unix:$tmp/s" -m 64M \
	-e "a,size=1M,format=vfat,files=/"
wrong 1 'mkfs.ext4: has failed' -l "unix:$tmp/s" -m 64M -e "a,size=4K,format=ext4"
wrong 2 'label means nothing without format' -m 64M -e "a,size=1M,label=x"
