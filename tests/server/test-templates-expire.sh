#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# expire: a template's disk that nobody has open for so long is deleted, and its
# memory comes back; one that is used stays; a restart goes on counting.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
conf=$tmp/conf
cat >"$conf" <<END
[pool]
size = 64M
path = $pool
[template short-*]
size = 8M
expire = 1s
[template brief-*]
size = 1M
expire = 3s
[template long-*]
size = 1M
expire = 1h
[template ever-*]
size = 1M
END
start_nbdramd -c "$conf"
peer <<'END' || fail "expire"
for kind in ("long", "ever"):
    Peer.open(name=kind + "-1").close()
used = Peer.open(name="short-used")
used.write(0, b"u" * 4096)
held = ask("show")["pool"]["held"]
for i in range(4):
    p = Peer.open(name="short-%d" % i)
    p.write(0, pattern(i, 4 * MIB))
    p.close()
assert eventually(60, lambda: not [n for n in disks()
                                   if n.startswith("short-") and n != "short-used"])
assert used.read(0, 4096) == b"u" * 4096
assert {"short-used", "long-1", "ever-1"} <= set(disks())
assert eventually(60, lambda: ask("show")["pool"]["held"] <= held + 2 * MIB)
# Who comes back later gets a new one.
p = Peer.open(name="short-0")
assert p.read(0, 4096) == bytes(4096)
p.write(0, b"again" * 100)
assert Peer.open(name="short-used").read(0, 4096) == b"u" * 4096
END
# Brief visits, which nobody sees who only looks now and then, count too.
peer <<'END' || fail "brief visits"
p = Peer.open(name="brief-1")
p.write(0, b"b" * 4096)
p.close()
last = time.monotonic()
until = last + 6
while last < until:
    time.sleep(0.2)
    p = Peer.open(name="brief-1")
    data = p.read(0, 4096)
    p.close()
    now = time.monotonic()
    if now - last > 2:
        break # too slow to tell
    last = now
    assert data == b"b" * 4096
assert eventually(60, lambda: "brief-1" not in disks())
END
grep -q 'disk short-2: deleted: nobody has used it for 1 s' "$log" ||
	fail "the log does not say what was deleted"
kill_nbdramd
# It was open when the server died: its time begins now, and passes.
start_nbdramd -c "$conf"
peer <<'END' || fail "expire after kill -9"
assert {"long-1", "ever-1"} <= set(disks())
assert eventually(60, lambda: set(disks()) == {"long-1", "ever-1"}), disks()
END
stop_nbdramd
# What a note says of the time before counts.
sed -i 's/expire = 1h/expire = 300s/' "$conf"
start_nbdramd -c "$conf"
peer <<'END' || fail "a long time"
assert "long-1" in disks()
END
stop_nbdramd
