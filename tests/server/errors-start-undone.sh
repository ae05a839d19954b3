#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A start that fails, for whatever reason and however late, leaves everything as
# it was: no folder and no pool where there was none, no disk made, none with
# another size or promise; no socket.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mkdir "$tmp/file-not-socket"
# Each with a line that it must say: what cannot be had. Another pool's is kept
# by a server of its own.
start_nbdramd --both -m 16M 1M
other=$socket other_port=$port other_control=$control
fails()
{
	wrong 1 'no/such/s: .*cannot listen' "$@" -l "unix:$tmp/no/such/s"
	wrong 1 'another program listens' "$@" -l "unix:$tmp/s" -l "unix:$other"
	wrong 1 "127.0.0.1:$other_port" "$@" -l "unix:$tmp/s" \
		-l "127.0.0.1:$other_port"
	wrong 1 'something else' "$@" -l "unix:$tmp/file-not-socket"
	wrong 1 'control' "$@" -l "unix:$tmp/s" -s "$tmp/no/such/control"
	wrong 1 'control.*another program' "$@" -l "unix:$tmp/s" \
		-s "$other_control"
	wrong 1 'export huge: .*64 MiB' "$@" -l "unix:$tmp/s" \
		-e huge,size=1G,alloc=fixed
	wrong 1 'export unknown: there is no such disk' "$@" \
		-l "unix:$tmp/s" -e unknown
	[ ! -e "$tmp/s" ] || fail "a socket was left behind"
	[ ! -e "$tmp/control" ] || fail "a control socket was left behind"
}

echo "--- a new pool"
new_pool
fails -p "$pool" -m 64M -e a,size=1M -e b,size=1G
[ ! -e "$pool" ] || fail "a folder was left behind: $(ls -l "$pool")"
mkdir -m 700 "$pool"
fails -p "$pool" -m 64M -e a,size=1M -e b,size=1G
[ -d "$pool" ] || fail "the folder is gone"
[ -z "$(ls "$pool")" ] || fail "left behind: $(ls -l "$pool")"
rmdir "$pool"

echo "--- a pool that is there"
start_nbdramd -p "$pool" -m 64M -e a,size=16M -e b,size=8M,quota=4M \
	-e c,size=1M,alloc=fixed
peer <<'END'
Peer.open(name="a").write(8 * MIB - 1, b"x")
END
stop_nbdramd
fails -p "$pool" -m 64M -e a,size=32M,alloc=fixed -e b,size=1M,quota=2M \
	-e c,size=2M -e new,size=1M
wrong 1 'export a: .*16777216 bytes and data' -p "$pool" -m 64M \
	-l "unix:$tmp/s" -e b,size=1M,guarantee=1M -e a,size=1M -e new,size=1M
start_nbdramd -p "$pool" -m 64M -e a
peer <<'END' || fail "the pool is another"
found = disks()
assert sorted(found) == ["a", "b", "c"], found
shown = {name: ask("show", name=name)["disk"] for name in found}
print(shown)
assert shown["a"]["size"] == 16 * MIB and shown["a"]["alloc"] == "thin"
assert shown["b"]["size"] == 8 * MIB and shown["b"]["quota"] == 4 * MIB
assert "guarantee" not in shown["b"]
assert shown["c"]["size"] == MIB and shown["c"]["alloc"] == "fixed"
assert Peer.open(name="a").read(8 * MIB - 1, 1) == b"x"
END
