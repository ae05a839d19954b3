#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies of a disk that only some may open are for the same clients, also when it is
# not exported any more, and after a restart; keys of the command say otherwise. What
# `show --config` writes of it keeps its rules too.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
other=$(($(id -u) + 1))
cat >"$tmp/some.conf" <<END
[pool]
size = 64M
path = $pool
[export all]
size = 1M
END
cat - "$tmp/some.conf" >"$tmp/all.conf" <<END
[export secret]
size = 1M
allow = uid:$other
writers = many
END

# seen NAME...: these exports are listed to us, and no others.
seen()
{
	peer "$@" <<'END' || fail "listed to us: not $*"
got = {name for name, description in Peer().hello().list()}
assert got == set(args), got
END
}

start_nbdramd -c "$tmp/all.conf"
ctl snapshot secret s1 || fail snapshot
ctl clone secret c1 || fail clone
ctl clone c1 c2 || fail "clone of the clone"
ctl snapshot s1 s2 || fail "snapshot of the snapshot"
ctl snapshot secret allow="any ro" >"$tmp/named" || fail "snapshot allow="
named=$(cat "$tmp/named")
ctl snapshot secret open allow=any || fail "snapshot AS allow="
ctl clone secret mine "allow=uid:$(id -u)" writers=host || fail "clone allow="
ctl clone all more || fail "clone all"
peer "$other" <<'END' || fail "what show says"
for name in "secret", "s1", "s2", "c1", "c2":
    d = ask("show", name=name)["disk"]
    assert d["allow"] == "uid:" + args[0] and d["writers-policy"] == "many", d
assert ask("show", name="all")["disk"]["allow"] == "any"
assert ask("show", name="mine")["disk"]["writers-policy"] == "host"
for key in "size=1M", "alloc=fixed", "quota=1M", "guarantee=1M", "siz=1M":
    fails("usage", "snapshot", name="all", **{"as": "x", "keys": [key]})
assert "allow = uid:" + args[0] in ctl("show", "c1", "--config")
# What a configuration cannot make is a comment.
for line in ctl("show", "s1", "--config").splitlines():
    assert line.startswith("#"), line
END
seen all more mine open "$named"
stop_nbdramd

start_nbdramd -c "$tmp/all.conf"
seen all more mine open "$named"
stop_nbdramd

# No longer exported: copies are still for the same.
start_nbdramd -c "$tmp/some.conf"
ctl clone secret late || fail "clone of what is not exported"
seen all more mine open "$named"
peer "$other" <<'END' || fail "rules of what is not exported"
for name in "secret", "late":
    d = ask("show", name=name)["disk"]
    assert d["allow"] == "uid:" + args[0] and d["writers-policy"] == "many", d
END
ctl show --config secret >"$tmp/secret.conf" || fail "show --config"
cat "$tmp/secret.conf"
stop_nbdramd
cat "$tmp/some.conf" "$tmp/secret.conf" >"$tmp/pasted.conf"
start_nbdramd -c "$tmp/pasted.conf"
seen all more mine open "$named"
stop_nbdramd

# All sections at once are a configuration that starts.
start_nbdramd -c "$tmp/some.conf"
ctl show --config >"$tmp/sections" || fail "show --config of all"
stop_nbdramd
cat - "$tmp/sections" >"$tmp/again.conf" <<END
[pool]
size = 64M
END
"$nbdramd" -t -c "$tmp/again.conf" || fail "sections of all are no configuration"
start_nbdramd -c "$tmp/again.conf"
seen all more mine
stop_nbdramd
