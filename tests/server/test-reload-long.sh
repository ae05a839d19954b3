#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A reload that takes the memory of a large disk lasts a while: others come and work
# meanwhile, by the protocol and by nbdramctl; a stop is not kept waiting by it, and
# leaves no disk half made.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

small='[pool]
size = 3G
[export a]
size = 4M
'
large='[export large]
alloc = fixed
size = 2G
'
new_pool
printf %s "$small" >"$conf"
start_nbdramd -c "$conf" -p "$pool"
printf '%s%s' "$small" "$large" >"$conf"
before=$(wc -l <"$log")
peer "$log" "$before" <<'END' || fail "beside a reload"
import signal
log, before = args[0], int(args[1])
def over():
    with open(log) as f:
        return any("reload: done" in line for line in f.readlines()[before:])
p = Peer.open(name="a")
os.kill(int(pid), signal.SIGHUP)
longest, turns = 0, 0
until = time.monotonic() + 60
while not over():
    assert time.monotonic() < until
    started = time.monotonic()
    p.write(0, b"x" * 4096)
    with Peer.open(name="a") as q:
        assert q.read(0, 1) == b"x"
    longest = max(longest, time.monotonic() - started)
    turns += 1
print("%d turns, the longest took %.3f s" % (turns, longest))
assert slow or longest < 1, longest
assert Peer.open(name="large").size == 2 << 30
END
stop_nbdramd

# Stopped in the midst of it.
rm -rf "$pool"
printf %s "$small" >"$conf"
start_nbdramd -c "$conf" -p "$pool"
printf '%s%s' "$small" "$large" >"$conf"
before=$(wc -l <"$log")
kill -HUP "$pid"
_growing() { [ "$(stat -c %b "$pool/pool")" -gt $(((300 << 20) / 512)) ]; }
wait_for 30 _growing || fail "no memory is taken"
stop_nbdramd
printf %s "$small" >"$conf"
start_nbdramd -c "$conf" -p "$pool"
peer <<'END' || fail "after the stop"
with Peer() as p:
    p.hello()
    assert [name for name, *_ in p.list()] == ["a"], p.list()
END
if ! grep -q "reload: done" <(tail -n "+$((before + 1))" "$log"); then
	ctl list --json >"$tmp/list" || fail "list"
	! grep -q '"large"' "$tmp/list" || fail "a disk half made is there"
fi
