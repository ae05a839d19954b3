#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a reload does to exports: added, no longer exported (clients go on, the
# disk is kept and comes back as it was), grown, made smaller where nothing is
# cut, read-only for new clients, another default.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

cat >"$conf" <<'END'
[pool]
size = 64M
[export a]
size = 1M
default = yes
[export gone]
size = 2M
END
start_nbdramd -c "$conf"
reload_good "done, nothing is different"

# A client that is there all the time.
mkfifo "$tmp/go" "$tmp/did"
peer "$tmp" <<'END' &
import threading
a, gone = Peer.open(name="a"), Peer.open(name="gone")
gone.write(4096, b"kept" * 1024)
a.write(0, b"here" * 1024)
go, did = open(args[0] + "/go"), open(args[0] + "/did", "w", buffering=1)
print("began", file=did)
for line in go:
    # What was open before goes on, and may write as it could.
    gone.write(8192, line.encode().ljust(4096, b"."))
    assert gone.read(4096, 4096) == b"kept" * 1024
    a.write(0, b"here" * 1024)
    a.read(0, 1 << 20)
    print("did", file=did)
END
client=$!
exec {go}>"$tmp/go" {did}<"$tmp/did"
read -r -t 60 -u "$did" _ || fail "the client does not begin"
client()
{
	echo "$1" >&"$go"
	read -r -t 60 -u "$did" _ || fail "the client did not go on: $1"
}
client first

cat >"$conf" <<'END'
[pool]
size = 64M
[export a]
size = 3M
readonly = yes
[export b]
size = 4M
alloc = fixed
default = yes
END
reload_good "a: readonly = yes" "a: is no longer the default" "a: has 3145728" \
	"b: is exported now" "b: a new disk" "gone: no longer exported.*go on .1."
client second
peer <<'END' || fail "after the first reload"
with Peer() as p:
    p.hello()
    assert [name for name, *_ in p.list()] == ["a", "b"], p.list()
    refused("ERR_UNKNOWN", p.go, "gone")
a = Peer.open(name="a")
assert a.size == 3 << 20 and a.flags & F_READ_ONLY
assert a.read(0, 4096) == b"here" * 1024
assert Peer.open(name="").size == 4 << 20
END

# Back again: as it was, with what was written meanwhile.
cat >"$conf" <<'END'
[pool]
size = 64M
[export gone]
size = 2M
[export a]
size = 3M
END
reload_good "gone: is exported now" "b: no longer exported" "a: readonly = no"
peer <<'END' || fail "after the second reload"
gone = Peer.open(name="gone")
assert gone.read(4096, 4096) == b"kept" * 1024
assert gone.read(8192, 6) == b"second"
with Peer() as p:
    p.hello()
    assert [name for name, *_ in p.list()] == ["gone", "a"], p.list()
    refused("ERR_UNKNOWN", p.go, "")
END
# Not while clients have it open.
sed -i 's/^size = 3M/size = 512K/' "$conf"
reload_bad "a: has 3145728 bytes, and 1 client has it open"
client third
exec {go}>&-
wait "$client" || fail "the client was disturbed"
peer <<'END' || fail "a client stays"
assert eventually(10, lambda: disks()["a"]["clients"] == 0)
END
reload_good "a: has 524288 bytes now, and had 3145728"
peer <<'END' || fail "the smaller disk"
assert Peer.open(name="a").size == 512 << 10
END

# What keys say is given to a disk that is there; where none says anything it
# stays, and the report says so, each time.
cat >"$conf" <<'END'
[pool]
size = 64M
[export b]
size = 4M
[export a]
quota = 1M
END
reload_good "b: alloc = fixed stays" "a: quota = 1048576"
reload_good "b: alloc = fixed stays"
cat >"$conf" <<'END'
[pool]
size = 64M
[export b]
size = 4M
alloc = fixed
[export a]
guarantee = 1M
quota = 3M
END
reload_good "a: quota = 3145728" "a: guarantee = 1048576"
sed -i 's/^guarantee = 1M/alloc = fixed/' "$conf"
reload_good "a: alloc = fixed"
reload_good "nothing is different"
sed -i 's/^quota.*/quota = 1G/' "$conf"
printf '[export c]\nsize = 90M\nguarantee = 90M\n' >>"$conf"
reload_bad "c: the pool of 64"
sed -i '/^.export c.$/,$d' "$conf"
reload_good "a: quota = 1073741824"
# What goes together with what the disk has; thin again only by name.
sed -i 's/^quota.*/quota = 64K/' "$conf"
reload_bad '"a": alloc = fixed .* quota is smaller'
sed -i 's/^quota.*/quota = 1G/; s/^alloc = fixed/alloc = thin/' "$conf"
reload_good "b: alloc = thin" "a: alloc = thin"
reload_good "nothing is different"

# Nothing at all: all are kept and none is exported.
echo "[pool]" >"$conf"
reload
peer <<'END' || fail "without exports"
with Peer() as p:
    p.hello()
    print(p.list())
END
