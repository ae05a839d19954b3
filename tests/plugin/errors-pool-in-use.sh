#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One pool, two servers: the second is refused, the first does not notice. The
# place is free as soon as the first is gone, even by kill -9.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
start_nbdkit 8M pool="$pool" memory=64M
client <<'END'
h.pwrite(b"x" * 65536, 4096)
END
first=$nbdkit_pid
for size in "" 8M 16M; do
	# shellcheck disable=SC2086
	refused "$pool.*(in use|another process|owns)" $size pool="$pool"
done
client <<'END' || fail "the first one lost data"
assert h.pread(65536, 4096) == b"x" * 65536
h.pwrite(b"y" * 4096, 0)
END
kill -9 "$first"
wait "$first"
start_nbdkit pool="$pool" memory=64M
client <<'END' || fail "the third one has not got the data"
assert h.pread(4096, 0) == b"y" * 4096
assert h.pread(65536, 4096) == b"x" * 65536
END
