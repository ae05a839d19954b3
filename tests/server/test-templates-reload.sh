#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A reload changes templates: new ones are there, others are gone and their disks
# kept, what they say of clients is so for what they have made already; who has a
# disk open goes on.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

write_conf()
{
	printf '%s\n' '[pool]' 'size = 64M' "$@" >"$conf"
}
write_conf '[template a-*]' 'size = 1M' '[template b-*]' 'size = 1M'
start_nbdramd -c "$conf"
reload_good "done, nothing is different"
mkfifo "$tmp/go" "$tmp/did"
peer "$tmp" <<'END' &
a, b = Peer.open(name="a-1"), Peer.open(name="b-1")
b.write(0, b"b" * 4096)
go, did = open(args[0] + "/go"), open(args[0] + "/did", "w", buffering=1)
print("began", file=did)
for line in go:
    a.write(0, b"a" * 4096)
    b.write(4096, line.encode().ljust(4096, b"."))
    assert b.read(0, 4096) == b"b" * 4096
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

# One goes, one changes, one comes.
write_conf '[template a-*]' 'size = 2M' 'readonly = yes' 'max-connections = 2' \
	'[template c-*]' 'size = 3M'
reload_good 'template a-\*: is another now' 'template b-\*: is gone' \
	'template c-\*: is there now' '1 disks are exported otherwise now' \
	'1 disks are no longer exported, as their templates are gone; they are kept'
client second
peer <<'END' || fail "after the first reload"
a = Peer.open(name="a-1")
assert a.flags & F_READ_ONLY and a.size == MIB
refused("ERR_POLICY", Peer.open, name="a-1")
assert Peer.open(name="a-2").size == 2 * MIB
refused("ERR_UNKNOWN", Peer().hello().go, "b-1")
refused("ERR_UNKNOWN", Peer().hello().go, "b-2")
assert disks()["b-1"]["state"] == "not exported"
assert Peer.open(name="c-1").size == 3 * MIB
END
# Wrong ones change nothing.
write_conf '[template a-*]' 'size = from-name'
reload_bad 'size = from-name needs max-size'
client third
# A section takes a template's disk over; what has gone comes back.
write_conf '[export a-1]' 'size = 1M' '[template b-*]' 'size = 1M' \
	'[template c-*]' 'size = 3M'
reload_good 'export a-1: was made by template a-\*, and is the configuration'
client fourth
peer <<'END' || fail "after the last reload"
d = ask("show", name="a-1")["disk"]
assert d["made"] == "configuration" and "owner" not in d, d
assert not Peer.open(name="a-1").flags & F_READ_ONLY
b = Peer.open(name="b-1")
assert b.read(0, 4096) == b"b" * 4096
assert disks()["b-1"]["template"] == "b-*"
END
exec {go}>&-
wait "$client" || fail "the client failed"
# What is being made meanwhile becomes what the template says then. Long to load, and
# nothing in it:
write_conf '[export large]' 'size = 3G'
reload_good 'export large: is exported now'
"$nbdramctl" -s "$control" save large "$tmp/large.zst" || fail "save"
write_conf '[template l-*]' "image = $tmp/large.zst"
reload_good 'template l-\*: is there now'
peer "$conf" <<'END' || fail "a reload while a disk is made"
import threading
def go():
    try:
        Peer.open(name="l-1")
    except Refused as e:
        assert e.name == "ERR_UNKNOWN", e
began = threading.Thread(target=go)
began.start()
time.sleep(0.1)
with open(args[0], "a") as f:
    f.write("allow = uid:4000000000\n")
ask("reload")
began.join()
refused("ERR_UNKNOWN", Peer().hello().go, "l-1")
END
stop_nbdramd
