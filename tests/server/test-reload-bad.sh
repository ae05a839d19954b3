#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A reload that fails says why, all of it, and changes nothing: wrong words in
# the file, no file, what cannot be had. Disks that it made are gone again,
# those that it has grown are as they were.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

good='[pool]
size = 64M
[export a]
size = 4M
default = yes
[export big]
size = 1M
'
printf %s "$good" >"$conf"
start_nbdramd -c "$conf"
peer <<'END' || fail "before"
Peer.open(name="a").write((4 << 20) - 4096, b"last" * 1024)
END
before=$(peer <<<'print(len(os.listdir("/proc/%s/fd" % pid)))')

same()
{
	peer <<'END' || fail "something has changed"
with Peer() as p:
    p.hello()
    assert [name for name, *_ in p.list()] == ["a", "big"], p.list()
    refused("ERR_UNKNOWN", p.go, "new")
a = Peer.open(name="")
assert a.size == 4 << 20 and not a.flags & F_READ_ONLY
assert a.read((4 << 20) - 4096, 4096) == b"last" * 1024
assert Peer.open(name="big").size == 1 << 20
END
}

# bad TEXT PATTERN...: the file with this text behind what was good.
bad()
{
	printf '%s%s\n' "$good" "$1" >"$conf"
	shift
	reload_bad "$@"
	same
}

bad 'redonly = yes' ":8: .*redonly.*readonly"
bad $'size = x\nsize = 1M\n[exprot c]' ":8: " ":9: " ":10: .*exprot"
bad $'[export a]\nsize = 1M' "a"
bad $'default = yes' "default"
bad $'[export new]\nsize = 16M\n[export a2]' "a2.*size"
bad $'[export new]\nsize = 16M\n[export fixed]\nsize = 1G\nalloc = fixed' \
	"fixed: the pool of 64 MiB"

# Disks: too small for what is there, while others were to grow and to be made.
cat >"$conf" <<'END'
[pool]
size = 64M
[export big]
size = 8M
[export a]
size = 1M
[export new]
size = 1M
[export other]
END
reload_bad "other: there is no such disk"
same
sed -i 's/^\[export other\]//' "$conf"
reload_bad "a: has 4194304 bytes and data behind 1048576"
same

# Files that are none.
: >"$conf"
chmod 0 "$conf"
[ "$(id -u)" = 0 ] || { reload_bad "Permission"; same; }
rm "$conf"
reload_bad "nbdram.conf"
same
mkfifo "$conf"
reload_bad "nbdram.conf"
same
rm "$conf"
mkdir "$conf"
reload_bad "nbdram.conf"
same
rmdir "$conf"
ln -s nbdram.conf "$conf"
reload_bad "nbdram.conf"
same
rm "$conf"
head -c 100000 /dev/urandom >"$conf"
reload
grep -q "nothing was changed" <<<"$said" || fail "random bytes were taken"
same

# And back: the same as before, and the memory of what was made is not lost.
printf %s "$good" >"$conf"
reload_good "done, nothing is different"
same
after=$(peer <<<'print(len(os.listdir("/proc/%s/fd" % pid)))')
[ "$before" = "$after" ] || fail "$before descriptors before, $after after"
printf '%s\n[export whole]\nsize = 40M\nalloc = fixed\n' "$good" >"$conf"
reload_good "whole: a new disk"
