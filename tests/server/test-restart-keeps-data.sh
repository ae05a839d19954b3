#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool in a folder outlives its server: disks by their names, the same uuid;
# a larger size grows the disk, a disk that is no longer named is kept.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
start_nbdramd -p "$pool" -m 64M -e a,size=8M,default -e b,size=16M
peer >"$tmp/first" <<'END' || fail "first start"
Peer.open(name="a").write(4 * MIB, b"a" * 5000)
Peer.open(name="b").write(5 * MIB, b"b" * 5000)
print(Peer().hello().list())
END
stop_nbdramd
start_nbdramd -p "$pool" -m 64M -e a,size=8M,default -e b
peer >"$tmp/again" <<'END' || fail "second start"
assert Peer.open(name="").read(4 * MIB, 5000) == b"a" * 5000
assert Peer.open(name="b").read(5 * MIB, 5000) == b"b" * 5000
print(Peer().hello().list())
END
stop_nbdramd
cmp "$tmp/first" "$tmp/again" || fail "other names or uuids"
# Without b, and a grows.
start_nbdramd -p "$pool" -m 64M -e a,size=32M
peer <<'END' || fail "third start"
a = Peer.open(name="a")
assert a.size == 32 * MIB
assert a.read(4 * MIB, 5000) == b"a" * 5000
assert not any(a.read(8 * MIB, 24 * MIB))
a.write(32 * MIB - 4, b"last")
refused("ERR_UNKNOWN", Peer.open, name="b")
END
kill_nbdramd
start_nbdramd -p "$pool" -m 64M -e a -e b
peer <<'END' || fail "fourth start"
assert Peer.open(name="a").read(32 * MIB - 4, 4) == b"last"
assert Peer.open(name="b").read(5 * MIB, 5000) == b"b" * 5000
END
