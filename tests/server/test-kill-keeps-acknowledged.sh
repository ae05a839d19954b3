#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a server with its pool in a folder, under load by several clients:
# every write that was acknowledged is there afterwards, and each block is old or
# new as a whole.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_python_libnbd

writer="$abs_top_srcdir/tests/plugin/kill-writer.py"
blocks=2000
new_pool
rounds=$(scaled 400 8)
for ((round = 1; round <= rounds; round++)); do
	start_nbdramd --both -p "$pool" -m 256M 64M
	[ $((round % 2)) = 0 ] || uri=$tcp_uri
	"$python" "$writer" check "$uri" "$blocks" "$tmp/log" ||
		fail "round $round: the disk is not what it was"
	: >"$tmp/out"
	"$python" "$writer" write "$uri" "$blocks" "$tmp/log" >"$tmp/out" &
	client=$!
	wait_for 20 grep -q ready "$tmp/out" || fail "the writer does not start"
	# At any moment.
	sleep "0.$((RANDOM % 2))$((RANDOM % 10))"
	kill_nbdramd
	wait "$client" || fail "round $round: the writer failed"
	cat "$tmp/out"
done
start_nbdramd -p "$pool" -m 256M 64M
"$python" "$writer" check "$uri" "$blocks" "$tmp/log" ||
	fail "the disk is not what it was"
