#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdkit's other ways of serving: one client on standard input (-s), and a
# command that ends it (--run, with and without -f, by signal).
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_python_libnbd

new_pool
"$python" - "${nbdkit_command[@]}" -s --exit-with-parent "$plugin" 16M \
	pool="$pool" <<'END' || fail "-s"
import nbd, sys
h = nbd.NBD()
h.connect_command(sys.argv[1:])
h.pwrite(b"by -s", 4096)
assert h.pread(5, 4096) == b"by -s"
h.shutdown()
END
for how in "" -f; do
	# shellcheck disable=SC2086
	PATH=/usr/bin:$PATH \
	"${nbdkit_command[@]}" $how -U - "$plugin" 16M pool="$pool" \
		--run 'nbdsh -u "$uri" -c "
assert h.pread(5, 4096) == b\"by -s\"
h.trim(2**24 - 8192, 8192)" && exit 5'
	status=$?
	[ "$status" = 5 ] || fail "--run $how: exit status $status"
done

# A signal while a client is busy.
start_nbdkit 64M memory=128M
client <<'END' >"$tmp/busy" &
print("ready", flush=True)
try:
    while True:
        h.pwrite(b"x" * 2**20, random.randrange(63) * 2**20)
        h.trim(2**20, random.randrange(63) * 2**20)
except nbd.Error:
    pass
END
wait_for 10 grep -q ready "$tmp/busy" || fail "the client does not start"
sleep 0.3
start=$(date +%s%N)
stop_nbdkit
status=$?
[ "$status" = 0 ] || fail "ended by a signal: exit status $status"
[ $(($(date +%s%N) - start)) -lt 5000000000 ] || fail "it took long to end"
