#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# load = lazy in a pool that gets full: who reads what is missing waits as long as `full`
# says, and is told; when there is room again loading goes on by itself.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

slow_files
mkfifo "$tmp/reads"
head -c 8M /dev/urandom >"$tmp/a.img"
# Too much for the pool is told before anything is served.
wrong 1 "export a: $tmp/a.img: cannot be loaded: .*memory" -l "unix:$tmp/s" -m 4M \
	-e "a,image=$tmp/a.img,load=lazy"
start_nbdramd --with env LD_PRELOAD="$tmp/slow.so" NBDRAM_TEST_READS="$tmp/reads" -- \
	-m 32M -o full='wait 200ms' -e "a,image=$tmp/a.img,load=lazy" -e fill,size=64M
peer "$tmp" <<'END' || fail "see above"
from lazy import *
folder = args[0]
gate = Gate(folder + "/reads")
show = lambda: ask("show", name="a")["disk"]
with open(folder + "/a.img", "rb") as f:
    want = f.read()
p, q = Peer.open(name="a"), Peer.open(name="fill")
try:
    for i in range(64):
        q.write(i * MIB, pattern(i, MIB))
except Refused as e:
    assert "ENOSPC" in str(e), e
else:
    assert False, "the pool is not full"
gate.let(1000)
assert eventually(30, lambda: show()["load-state"] == "waits for memory"), show()
read = send(p, READ, 7 * MIB, 4096)
take(p, read)
assert read.name() == "ENOSPC", read.name()
# What is there is as it was, and can be written over.
q.write(0, pattern(0, MIB))
q.trim(0, 64 * MIB)
assert eventually(30, lambda: "to-load" not in show()), show()
same(p.read(0, 8 * MIB), want)
END
[ "$(grep -c 'disk a: .* MiB of it are not loaded yet, and the pool has not got' "$log")" = 1 ] ||
	fail "the log does not say so once"
grep -q 'disk a: its loading goes on' "$log" || fail "the log does not say that it goes on"
stop_nbdramd
