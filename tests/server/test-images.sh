#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# image = FILE of exports and templates: loaded when the disk is made, and not when it
# is there; wrong ones keep the daemon from starting, or the template's client out.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

requires_command zstd
new_pool
"$python" - "$tmp" <<'END'
import random, sys
with open(sys.argv[1] + "/raw.img", "wb") as f:
    f.write(random.Random(1).randbytes(1 << 20))
    f.truncate(5 << 20)
END
zstd -q "$tmp/raw.img" -o "$tmp/image.zst"
write_conf()
{
	printf '%s\n' '[pool]' 'size = 128M' "path = $pool" "$@" >"$conf"
}
all=('[export raw]' "image = $tmp/raw.img" '[export zst]' "image = $tmp/image.zst"
	'size = 8M' '[export copy]' 'clone = raw' "image = $tmp/missing"
	'[template host-*]' "image = $tmp/image.zst" '[template bad-*]'
	"image = $tmp/bad.zst")
write_conf "${all[@]}"
start_nbdramd -c "$conf"
cat >"$tmp/look.py" <<'END'
for name, size in (("raw", 5), ("zst", 8), ("copy", 5), ("host-1", 5)):
    p = Peer.open(name=name)
    assert p.size == size * MIB, name
    assert p.read(0, size * MIB) == \
        random.Random(1).randbytes(MIB) + bytes((size - 1) * MIB), name
    assert disks()[name]["held"] < 2 * MIB, name
END
peer <"$tmp/look.py" || fail "what was loaded"
grep -q "export zst: loaded from $tmp/image.zst" "$log" || fail "the log does not say so"
peer <<'END' || fail "a template"
p = Peer().hello()
# How large it is nobody knows before it is read.
assert "how large" in refused("ERR_POLICY", p.ask_info, "host-9").text
refused("ERR_POLICY", p.go, "bad-1")
assert "bad-1" not in disks()
assert p.go("host-2").size == 5 * MIB
with Peer.open(name="host-1") as q:
    q.write(0, b"w" * 4096)
assert "nbdramctl load" in fails("usage", "reset", name="host-1")
assert "nbdramctl load" in fails("usage", "reset", name="raw")
END
grep -q "refused: .*export bad-1: $tmp/bad.zst: cannot be read: No such file" "$log" ||
	fail "the log does not say why"
kill_nbdramd
# What is there is not loaded again, nor is the file needed.
mv "$tmp/raw.img" "$tmp/gone.img"
start_nbdramd -c "$conf"
peer <<'END' || fail "after kill -9"
assert Peer.open(name="host-1").read(0, 4096) == b"w" * 4096
assert Peer.open(name="raw").read(0, MIB) == random.Random(1).randbytes(MIB)
END
# A reload that cannot load changes nothing; one that can does.
write_conf "${all[@]}" '[export new]' "image = $tmp/raw.img"
reload_bad "export new: $tmp/raw.img: cannot be read: No such file"
mv "$tmp/gone.img" "$tmp/raw.img"
reload_good 'export new: a new disk of 5242880 bytes'
peer <<'END' || fail "after the reload"
assert Peer.open(name="new").read(0, MIB) == random.Random(1).randbytes(MIB)
END
stop_nbdramd

# A start that cannot load: one line, and the pool as it was.
printf 'no zstd at all' >"$tmp/bad.zst"
head -c 200000 "$tmp/image.zst" >"$tmp/cut.zst"
wrong 1 'export a: .*missing: cannot be read: No such file' -l "unix:$tmp/s" -m 64M \
	-e "a,image=$tmp/missing"
wrong 1 'export a: .*bad.zst: .*no file of zstd' -l "unix:$tmp/s" -m 64M \
	-e "a,image=$tmp/bad.zst"
wrong 1 'export a: .*cut.zst: .*cut off' -l "unix:$tmp/s" -m 64M \
	-e "a,image=$tmp/cut.zst"
wrong 1 'export a: .*larger than the disk' -l "unix:$tmp/s" -m 64M \
	-e "a,size=1M,image=$tmp/raw.img"
wrong 1 'export a: .*is a folder' -l "unix:$tmp/s" -m 64M -e "a,image=$tmp"
wrong 1 'export a: .*memory' -l "unix:$tmp/s" -m 2M -e "a,image=$tmp/raw.img,size=1G,quota=512K"
