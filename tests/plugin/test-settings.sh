#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How memory is to be: locked, from a node, with a headroom; also in the background,
# where nbdkit forks after the pool is opened.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_plugin

# locked PID: MiB that the process has locked.
locked()
{
	awk '/^VmLck:/ { print int($2 / 1024) }' "/proc/$1/status"
}

start_nbdkit 16M memory=64M lock=yes numa=interleave headroom=64M
client <<'END' || fail "locked"
h.pwrite(b"x" * 1048576, 0)
assert h.pread(1048576, 0) == b"x" * 1048576
END
case $sanitizers in
'') [ "$(locked "$nbdkit_pid")" -ge 64 ] || fail "it is not locked" ;;
esac
stop_nbdkit || fail "exit status $?"

free_socket
"${nbdkit_command[@]}" -P "$tmp/pid" -U "$socket" "$plugin" 16M memory=64M \
	lock=yes numa=0 || fail "in the background"
wait_for 60 test -s "$tmp/pid" || fail "no process"
background=$(cat "$tmp/pid")
cleanup_fn end_process "$background"
case $sanitizers in
'') [ "$(locked "$background")" -ge 64 ] || fail "it is not locked" ;;
esac
