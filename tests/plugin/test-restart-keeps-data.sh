#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# With pool= the disk is there again after a restart: data, holes and size,
# asked for or not. Without it, it is not.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
start_nbdkit 1T pool="$pool" memory=256M
[ "$(stat -c %a "$pool")" = 700 ] || fail "mode of the folder"
[ "$(stat -c %a "$pool/pool")" = 600 ] || fail "mode of the file"
[ "$(ls -A "$pool")" = pool ] || fail "more than one file"
client <<'END' || fail "writing"
for i in range(40):
    h.pwrite(b"%d;" % i * 5000, i * i * 10**8 + i)
h.trim(2**30, 25 * 10**10)
h.pwrite(b"end", 2**40 - 3)
END
stop_nbdkit || fail "first: exit status $?"

for size in "" 1T size=1024G; do
	# shellcheck disable=SC2086
	start_nbdkit $size pool="$pool" memory=256M
	client <<'END' || fail "after a restart with '$size'"
assert h.get_size() == 2**40
for i in range(40):
    data, off = b"%d;" % i * 5000, i * i * 10**8 + i
    if i != 50:
        assert h.pread(len(data), off) == data, i
assert h.pread(3, 2**40 - 3) == b"end"
found = [e for e in extents(0, 2**40) if e[2] == "data"]
assert len(found) == 41, found
assert sum(e[1] for e in found) < 2**20
h.pwrite(b"end", 2**40 - 3)
END
	stop_nbdkit || fail "with '$size': exit status $?"
done

start_nbdkit 1M memory=16M
client <<'END'
h.pwrite(b"x", 0)
END
stop_nbdkit
start_nbdkit 1M memory=16M
client <<'END' || fail "data without pool= came back"
assert h.pread(2**20, 0) == bytes(2**20)
END
