#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 while clients write: every write that was acknowledged is there
# afterwards, and each block is old or new as a whole.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_python_libnbd

writer="$abs_top_srcdir/tests/plugin/kill-writer.py"
blocks=2000
new_pool
rounds=$(scaled 100 8)
for ((round = 1; round <= rounds; round++)); do
	start_nbdkit 64M pool="$pool" memory=256M
	"$python" "$writer" check "$uri" "$blocks" "$tmp/log" ||
		fail "round $round: the disk is not what it was"
	: >"$tmp/out"
	"$python" "$writer" write "$uri" "$blocks" "$tmp/log" >"$tmp/out" &
	pid=$!
	wait_for 10 grep -q ready "$tmp/out" || fail "the writer does not start"
	sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	kill -9 "$nbdkit_pid"
	wait "$nbdkit_pid" 2>/dev/null
	wait "$pid" || fail "round $round: the writer failed"
	cat "$tmp/out"
done
start_nbdkit 64M pool="$pool" memory=256M
"$python" "$writer" check "$uri" "$blocks" "$tmp/log" ||
	fail "the disk is not what it was"
