#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# detect-zeroes: blocks of zeroes that clients write take no memory; a reload
# turns it on and off, and a disk that was made by command keeps it over a
# restart.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

config()
{
	printf '%s\n' "[pool]" "size = 64M" "path = $pool" "[export a]" \
		"size = 16M" "$@" >"$conf"
}

cat >"$tmp/zeroes.py" <<'END'
def held(name):
    return ask("show", name=name)["disk"]["held"]

name, detect = args[0], args[1] == "yes"
p = Peer.open("extended", name=name)
p.write(0, pattern(1, 2 * MIB))
full = held(name)
assert full >= 2 * MIB
p.write(0, bytes(MIB))
p.write(MIB, bytes(4096) + pattern(2, 4096) + bytes(MIB - 8192))
assert p.read(0, MIB) == bytes(MIB)
assert p.read(MIB + 4096, 4096) == pattern(2, 4096)
now = held(name)
print("%s: %d, then %d KiB" % (name, full // 1024, now // 1024))
assert (now < 64 * 1024) if detect else (now == full), (full, now)
# What a client wants to have kept is kept.
p.zero(0, MIB, NO_HOLE)
assert held(name) >= MIB
p.trim(0, 16 * MIB)
END

new_pool
config "detect-zeroes = yes"
start_nbdramd -c "$conf"
peer a yes <"$tmp/zeroes.py" || fail "detect-zeroes = yes"
ctl create b size=16M detect-zeroes=yes || fail "create"
peer b yes <"$tmp/zeroes.py" || fail "made by command"
config
reload_good "export a: detect-zeroes = no"
peer a no <"$tmp/zeroes.py" || fail "detect-zeroes = no"
peer b yes <"$tmp/zeroes.py" || fail "made by command, after a reload"
stop_nbdramd
start_nbdramd -c "$conf"
peer b yes <"$tmp/zeroes.py" || fail "made by command, after a restart"
config "detect-zeroes = yes"
reload_good "export a: detect-zeroes = yes"
peer a yes <"$tmp/zeroes.py" || fail "detect-zeroes = yes again"
