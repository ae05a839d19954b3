#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Names are bytes: any of them may be made, shown and deleted, and none of them
# reaches a terminal as it is.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 64M -e a,size=1M
peer <<'END' || fail "names"
names = [b"caf\xc3\xa9", b"\xff\xfe", b"\x1b[31mred", b"tab\there", b"a\\b",
         b"\\x41", b"-dash", b"a b", b"\xe2\x80\xaegnp.exe", b"\"quoted\"",
         b"\xf0\x9f\x92\xbe", b"\xc3", b"n" * 255, b"\xed\xa0\x80"]
made = []
for name in names:
    run = subprocess.run([os.environ["NBDRAMCTL"], "-s",
                          os.environ["NBDRAM_CONTROL"], "create", "--", name,
                          "size=1M"], capture_output=True)
    print(name, run)
    # Some cannot stand in a configuration; that is one clear line.
    assert run.returncode in (0, 2) and run.stderr.count(b"\n") <= 1
    assert all(32 <= c < 127 or c == 10 for c in run.stderr), run
    if run.returncode == 0:
        made.append(name)
assert len(made) >= 8, made
out = ctl("list")
assert all(32 <= ord(c) < 127 or c == "\n" for c in out), out
assert out.count("\n") == len(made) + 2
json.loads(ctl("list", "--json").encode("ascii"))
if b"caf\xc3\xa9" in made:
    assert "caf\u00e9" in disks() and "caf\\xc3\\xa9" in out
    assert Peer.open(name="caf\u00e9").size == MIB
if b"\xff\xfe" in made:
    assert "\\xff\\xfe" in disks()
assert "a\\\\b" in disks()
for name in made:
    ctl("show", "--", name)
    ctl("delete", "--", name)
assert set(disks()) == {"a"}
END
stop_nbdramd
