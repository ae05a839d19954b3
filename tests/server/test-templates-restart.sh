#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What templates have made is there after kill -9, with its data and its owner; also
# when the template has gone meanwhile and comes back.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
conf=$tmp/conf
write_conf()
{
	printf '%s\n' '[pool]' 'size = 64M' "path = $pool" '[export golden]' \
		'size = 1M' "$@" >"$conf"
}
template=('[template host-*]' 'clone = golden' 'readonly = no')
write_conf "${template[@]}"
start_nbdramd --both -c "$conf"
peer <<'END' || fail "before"
for i in range(20):
    Peer.open(name="host-%d" % i).write(0, pattern(i, 4096))
Peer(tcp_uri).hello().go("host-tcp").write(0, pattern(99, 4096))
END
rounds=$(scaled 60 3)
for ((i = 0; i < rounds; i++)); do
	# It dies while disks are made.
	peer "$i" <<'END' 2>/dev/null &
for k in range(1000):
    Peer.open(name="host-%s-%d" % (args[0], k))
END
	client=$!
	wait_for 30 ctl show "host-$i-3" >/dev/null 2>&1
	kill_nbdramd
	wait "$client"
	start_nbdramd --both -c "$conf"
	peer <<'END' || fail "after round $i"
all = disks()
for name, d in all.items():
    if name == "golden":
        continue
    assert d["template"] == "host-*", d
    assert d["owner"] == ("this host" if name == "host-tcp"
                          else "uid:%d" % os.getuid()), d
for k in range(20):
    assert Peer.open(name="host-%d" % k).read(0, 4096) == pattern(k, 4096)
refused("ERR_UNKNOWN", Peer(tcp_uri).hello().go, "host-0")
refused("ERR_UNKNOWN", Peer().hello().go, "host-tcp")
assert Peer(tcp_uri).hello().go("host-tcp").read(0, 4096) == pattern(99, 4096)
assert set(disks()) == set(all)
# All of them can be opened by whom they are of.
for name in all:
    if name not in ("golden", "host-tcp"):
        Peer.open(name=name).close()
ask("check")
END
done
stop_nbdramd

write_conf
start_nbdramd --both -c "$conf"
grep -q 'disk host-0: kept, and not exported: its template is gone' "$log" ||
	fail "the log does not say what was kept"
peer <<'END' || fail "without the template"
refused("ERR_UNKNOWN", Peer().hello().go, "host-0")
assert disks()["host-0"]["state"] == "not exported"
END
stop_nbdramd
# Another template takes the name: only for its owner.
write_conf '[template ho*]' 'size = 2M'
start_nbdramd --both -c "$conf"
peer <<'END' || fail "another template"
refused("ERR_UNKNOWN", Peer(tcp_uri).hello().go, "host-0")
p = Peer.open(name="host-0")
assert p.size == MIB and p.read(0, 4096) == pattern(0, 4096)
refused("ERR_UNKNOWN", Peer(tcp_uri).hello().go, "host-0")
d = disks()["host-0"]
assert d["template"] == "ho*" and d["owner"] == "uid:%d" % os.getuid(), d
END
stop_nbdramd
