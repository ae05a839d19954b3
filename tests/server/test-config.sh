#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is served as configuration files and the command line say; what comes
# later replaces what came before.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mkdir "$tmp/etc" "$tmp/etc/conf.d"
conf=$tmp/etc/nbdram.conf
cat >"$conf" <<END
# Exports a, b and c.
[server]
listen = unix:$tmp/main
control = $tmp/control
[pool]
size = 64M
[export a]
size = 1M
default = yes
[export b]
size = 2M
[export c d]
size = 3M
alloc = fixed
END
cat >"$tmp/etc/conf.d/50.conf" <<END
[server]
listen = unix:$tmp/part, unix:$tmp/part two
[export b]
readonly = yes
END
cat >"$tmp/etc/conf.d/60.conf" <<END
[export b]
size = 5M
END

"$nbdramd" -t -c "$conf" >"$tmp/out" 2>&1 || fail "-t: $(cat "$tmp/out")"
[ ! -s "$tmp/out" ] || fail "-t says something"
[ ! -e "$tmp/part" ] || fail "-t has made something"

# start_nbdramd listens to a socket of its own, which replaces those of files.
start_nbdramd -c "$conf" -e e,size=4M -e a,size=6M
[ ! -e "$tmp/main" ] && [ ! -e "$tmp/part" ] || fail "-l does not replace listen"
peer <<'END' || fail "exports"
with Peer().hello() as p:
    assert [n for n, text in p.list()] == ["a", "b", "c d", "e"]
for name, size, readonly in (("", 6, 0), ("a", 6, 0), ("b", 5, 1),
                             ("c d", 3, 0), ("e", 4, 0)):
    p = Peer.open(name=name)
    assert p.size == size * MIB, name
    assert bool(p.flags & 2) == bool(readonly), name
END
stop_nbdramd

# Without it, those of the later file.
"$nbdramd" -c "$conf" >"$tmp/log" 2>&1 &
pid=$!
cleanup_fn end_process "$pid"
wait_for 60 grep -q "listening to unix:$tmp/part two" "$tmp/log" ||
	fail "not listening: $(cat "$tmp/log")"
[ -S "$tmp/part" ] && [ ! -e "$tmp/main" ] || fail "other sockets"
end_process "$pid" || fail "exit status $?"

# Keys that nothing comes of yet are told.
printf '%s\n' '[template host-*]' 'clone = a' 'weight = 7' >>"$conf"
start_nbdramd -c "$conf"
grep -q 'warning: .*\[template\] weight is read, but not' "$log" ||
	fail "no warning about weight"
stop_nbdramd
"$nbdramd" -t -c "$conf" >"$tmp/out" 2>&1 || fail "-t: $(cat "$tmp/out")"
[ ! -s "$tmp/out" ] || fail "-t says something: $(cat "$tmp/out")"

# The sample serves a disk to clients that name none; a file without any is told of.
sed "s,^#control = .*,control = $tmp/control," \
	"$abs_top_srcdir/conf/nbdram.conf" >"$conf"
rm -r "$tmp/etc/conf.d"
start_nbdramd -m 64M -c "$conf"
! grep -q warning "$log" || fail "a warning about the sample"
peer <<'END' || fail "the sample"
assert Peer.open(name="").size == 16 << 30
END
stop_nbdramd
echo '[pool]' >"$conf"
start_nbdramd -m 64M -c "$conf"
[ "$(grep -c 'warning: nothing is exported: .*nbdramctl create' "$log")" = 1 ] ||
	fail "no warning that nothing is exported"
stop_nbdramd
