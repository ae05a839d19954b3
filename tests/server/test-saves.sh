#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# save = FILE, save-every: saved when the daemon ends and its memory with it, and every
# so often; a disk starts from its file; show and stats say when it was saved. A pool that
# survives is not saved. What cannot be saved is told, and makes the exit status 1.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

mkdir "$tmp/files"
write_conf()
{
	printf '%s\n' '[server]' "listen = unix:$tmp/nbd" '[pool]' 'size = 128M' "$@" >"$conf"
}
uri="nbd+unix:///?socket=$tmp/nbd"
write_conf '[export raw]' 'size = 8M' "save = $tmp/files/raw.img" \
	'[export zst]' 'size = 6M' "save = $tmp/files/zst.zst" \
	'[export copy]' 'clone = raw' "save = $tmp/files/copy.img" \
	'[export plain]' 'size = 4M'
start_nbdramd --file -c "$conf" -s "$tmp/control"
control=$tmp/control
peer <<'END' || fail "before the first save"
for name, n in ("raw", 8), ("zst", 6), ("copy", 8):
    with Peer.open(name=name) as p:
        p.write(MIB, pattern(n, MIB))
d = ask("show", name="raw")["disk"]
assert d["save"].endswith("/raw.img") and d["save-state"] == "never", d
assert "saved-ago" not in d and "save" not in ask("show", name="plain")["disk"]
assert [s["name"] for s in ask("stats")["saves"]] == ["raw", "zst", "copy"]
assert "to which file" in ctl("save", "plain", status=2)
assert "of the configuration" in fails("usage", "create", name="x",
                                       keys=["size=1M", "save=/x"])
ctl("save", "raw")
d = ask("show", name="raw")["disk"]
assert d["save-state"] == "saved" and d["saved-ago"] < 60, d
assert "saved" in ctl("stats") and "raw.img" in ctl("show", "raw")
END
inode=$(stat -c %i "$tmp/files/raw.img")
stop_nbdramd
[ "$(stat -c %i "$tmp/files/raw.img")" = "$inode" ] || fail "what was there is written again"
grep -q "export raw: is as $tmp/files/raw.img has it already" "$log" || fail "not said"
grep -q "export copy: saved to $tmp/files/copy.img, [12] MiB written" "$log" || fail "not said"
[ "$(stat -c %s "$tmp/files/copy.img")" = 8388608 ] || fail "size of copy.img"

# The next one begins with them, whatever else it would be made of.
start_nbdramd --file -c "$conf" -s "$tmp/control"
peer <<'END' || fail "after a restart"
for name, n in ("raw", 8), ("zst", 6), ("copy", 8):
    with Peer.open(name=name) as p:
        assert p.size == n * MIB
        assert p.read(0, 3 * MIB) == bytes(MIB) + pattern(n, MIB) + bytes(MIB), name
assert ask("show", name="zst")["disk"]["save-state"] == "saved"
with Peer.open(name="raw") as p:
    p.trim(0, 4 * MIB)
    p.write(5 * MIB, b"x" * 4096)
END
stop_nbdramd
"$python" - "$tmp/files/raw.img" <<'END' || fail "raw.img"
import sys
data = open(sys.argv[1], "rb").read()
assert data == bytes(5 << 20) + b"x" * 4096 + bytes((3 << 20) - 4096)
END

# Every so often; one that fails is tried again, and does not end others.
write_conf '[export raw]' "save = $tmp/files/raw.img" 'save-every = 1s' \
	'[export odd]' 'size = 1000001' "save = $tmp/none/odd.img" 'save-every = 1s'
start_nbdramd --file -c "$conf" -s "$tmp/control"
peer "$tmp" <<'END' || fail "every so often"
p = Peer.open(name="raw")
assert p.size == 8 * MIB
def saved(data):
    with open(args[0] + "/files/raw.img", "rb") as f:
        return f.read()[:MIB] == data
for i in range(3):
    p.write(0, pattern(i, MIB))
    assert eventually(60, lambda: saved(pattern(i, MIB)))
assert eventually(60, lambda: ask("show", name="odd")["disk"]["save-state"] == "failed")
assert "none" in ask("show", name="odd")["disk"]["save-error"]
os.mkdir(args[0] + "/none")
assert eventually(60, lambda: ask("show", name="odd")["disk"]["save-state"] == "saved")
assert os.stat(args[0] + "/none/odd.img").st_size == 1000001
os.unlink(args[0] + "/none/odd.img")
os.rmdir(args[0] + "/none")
p.write(0, pattern(9, MIB))
END
grep -q 'export odd: not saved: .*No such file.*tried again' "$log" || fail "not said"
grep -q "export raw: saved to $tmp/files/raw.img, " "$log" || fail "not said"
kill -TERM "$pid"
wait "$pid"
[ $? = 1 ] || fail "it ends as if all were well"
_nbdramd_said "$pid"
grep -q 'export odd: what was written to it is lost' "$log" || fail "not said"
cmp -n 1048576 "$tmp/files/raw.img" <("$python" - "$abs_top_srcdir/tests" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from peer import *
sys.stdout.buffer.write(pattern(9, MIB))
END
) || fail "the other one is not saved"

# A file that is no image, or does not fit: no start, and nothing is saved over it.
echo 'no zstd' >"$tmp/files/bad.zst"
for key in "save=$tmp/files/bad.zst" "save=$tmp/files/raw.img" "save=$tmp/files" \
	"save=$tmp/files/bad.zst/x"; do
	cp "$tmp/files/bad.zst" "$tmp/bad"
	wrong 1 'export a: .*(no file of zstd|larger than|is a folder|cannot be read)' \
		-l "unix:$tmp/s" -m 64M -e "a,size=1M,$key"
	cmp "$tmp/files/bad.zst" "$tmp/bad" || fail "it was written to"
done
wrong 2 'is saved to the file that' -m 64M -e "a,size=1M,save=/x" -e "b,size=1M,save=/x"
wrong 2 'save-every means nothing without save' -m 64M -e "a,size=1M,save-every=1m"

# A pool that survives: only when asked.
new_pool
write_conf "path = $pool" '[export a]' 'size = 1M' "save = $tmp/files/a.img"
start_nbdramd --file -c "$conf" -s "$tmp/control"
stop_nbdramd
[ ! -e "$tmp/files/a.img" ] || fail "it was saved"
ls "$tmp/files" | grep -q tmp && fail "something is left"
true
