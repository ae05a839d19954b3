#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Without -f nbdkit forks into the background: the disk works there, the
# housekeeper too, errors are still told in the foreground, and a pool belongs
# to the process in the background.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_command nbdinfo

new_pool
free_socket
cd "$tmp" || fail "no $tmp"
pidfile=$tmp/pid
"${nbdkit_command[@]}" -P "$pidfile" -U "$socket" "$plugin" 1G memory=512M \
	pool="$(realpath --relative-to=. "$pool")" 2>"$tmp/err" ||
	fail "exit status $?: $(cat "$tmp/err")"
wait_for 10 test -s "$pidfile" || fail "no pid file"
pid=$(cat "$pidfile")
cleanup_fn kill -9 "$pid"
uri="nbd+unix:///?socket=$socket"
client <<'END' || fail "in the background"
data = random.randbytes(2**20)
for i in range(200):
    h.pwrite(data, i * 2**20)
h.trim(2**30, 0)
h.pwrite(b"there", 0)
END
mostly_back() { [ "$(pool_bytes "$pid")" -lt $((100 << 20)) ]; }
wait_for 5 mostly_back ||
	fail "no housekeeper: $(pool_bytes "$pid") bytes after a trim"
refused "$pool" 1G pool="$pool"
kill "$pid"
gone() { ! kill -0 "$pid" 2>/dev/null; }
wait_for 10 gone || fail "it does not end"

# The process that was started goes away before the one that has the pool.
start_nbdkit pool="$pool" memory=512M
client <<'END' || fail "after it"
assert h.pread(5, 0) == b"there"
END
