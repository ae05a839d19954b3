#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Zeroing gives memory back when the client lets it, and keeps or takes it when
# the client does not want holes. Seen from outside, in the pool's backing.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

# expect WHAT MIB: so much of the disk is data, so that is what the pool has, and
# not more besides than at the start (and 2 MiB). It may be less besides: writers
# draw on the warm reserve.
expect()
{
	local what=$1 least=$(($2 * mib)) most=$(($2 * mib + base + 2 * mib)) now
	_in_range()
	{
		now=$(pool_bytes)
		[ "$now" -ge "$least" ] && [ "$now" -le "$most" ]
	}
	wait_for 5 _in_range ||
		fail "$what: $(pool_bytes) bytes, not $least to $most"
	echo "$what: $now bytes"
}

start_nbdkit 1G memory=1G
wait_for 10 pool_settled
base=$(pool_bytes)
mib=$((1 << 20))

client <<'END'
block = random.randbytes(2**20)
for i in range(256):
    h.pwrite(block, i * 2**20)
END
expect "256 MiB written" 256

client <<'END' || fail "zero without holes"
for i in range(4):
    h.zero(64 * 2**20, i * 64 * 2**20, nbd.CMD_FLAG_NO_HOLE)
for i in range(0, 256, 17):
    assert h.pread(2**20, i * 2**20) == bytes(2**20)
assert extents(0, 2**30) == [[0, 2**28, "data"], [2**28, 3 * 2**28, "hole"]]
END
expect "zeroed without holes" 256

client <<'END' || fail "zero"
h.zero(128 * 2**20, 0)
assert h.pread(2**20, 2**20) == bytes(2**20)
assert extents(0, 2**30) == [[0, 2**27, "hole"], [2**27, 2**27, "data"],
                             [2**28, 3 * 2**28, "hole"]]
END
expect "half zeroed" 128

client <<'END' || fail "fast zero"
h.zero(128 * 2**20, 128 * 2**20, nbd.CMD_FLAG_FAST_ZERO)
assert extents(0, 2**30) == [[0, 2**30, "hole"]]
END
expect "all zeroed" 0

client <<'END' || fail "zero without holes where nothing was"
h.zero(64 * 2**20, 512 * 2**20, nbd.CMD_FLAG_NO_HOLE)
assert h.pread(2**20, 520 * 2**20) == bytes(2**20)
assert extents(512 * 2**20, 128 * 2**20) == [
    [512 * 2**20, 64 * 2**20, "data"], [576 * 2**20, 64 * 2**20, "hole"]]
END
expect "64 MiB allocated" 64

client <<'END'
h.trim(2**30, 0)
END
expect "all trimmed" 0
