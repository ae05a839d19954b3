#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clone=per-connection: each connection has what the disk held, writes for itself,
# and leaves nothing behind; the disk never changes, after a kill either.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
start_nbdkit 1G pool="$pool" memory=256M
client <<'END' || fail "the image"
for i in range(0, 32 * 2**20, 2**20):
    h.pwrite(b"%08d" % i * 2**17, i)
END
stop_nbdkit || fail "first: exit status $?"

start_nbdkit pool="$pool" memory=256M clone=per-connection
wait_for 20 pool_settled
before=$(pool_bytes)
cat >"$tmp/image.py" <<'END'
def image(h):
    return all(h.pread(2**20, i) == b"%08d" % i * 2**17
               for i in range(0, 32 * 2**20, 2**20))
END
client "$(scaled 2000 100)" <<END || fail "connections of their own"
$(cat "$tmp/image.py")

assert not h.can_multi_conn() and not h.is_read_only()
others = [connect() for i in range(20)]
assert h.get_size() == 2**30
for i, c in enumerate(others):
    assert c.pread(4096, 2**20) == b"%08d" % (2**20) * 512
    c.pwrite(b"%04d" % i * 1024, 2**20 + 4096)
    c.pwrite(b"%04d" % i * 1024, 2**29 + i * 4096)
    c.trim(2**20, 8 * 2**20)
for i, c in enumerate(others):
    assert c.pread(8192, 2**20) == b"%08d" % (2**20) * 512 + b"%04d" % i * 1024
    for j in range(20):
        want = b"%04d" % i * 1024 if i == j else bytes(4096)
        assert c.pread(4096, 2**29 + j * 4096) == want
    assert c.pread(2**20, 8 * 2**20) == bytes(2**20)
assert image(h) and extents(0, 2**30) == [
    [0, 32 * 2**20, "data"], [32 * 2**20, 992 * 2**20, "hole"]]
others[0].flush()
others[0].zero(2**20, 0, nbd.CMD_FLAG_FUA)
for c in others:
    c.shutdown()
# One after the other, far more than there is memory for at once.
for i in range(int(args[0])):
    c = connect()
    assert c.pread(4096, 0) == b"%08d" % 0 * 512
    c.pwrite(b"x" * 2**18, 0)
    # Half of them just go.
    if i % 2:
        c.shutdown()
    del c
END
gone()
{
	[ "$(pool_bytes)" -le $((before + (1 << 20))) ]
}
wait_for 20 gone || fail "memory of closed connections: $(pool_bytes), not $before"

# While there are clones.
client "$nbdkit_pid" <<'END' || fail "connections until the end"
import signal
others = [connect() for i in range(20)]
for c in others + [h]:
    c.pwrite(b"x" * 2**20, 0)
os.kill(int(args[0]), signal.SIGKILL)
END
wait "$nbdkit_pid" 2>/dev/null
start_nbdkit pool="$pool" memory=256M
client <<END || fail "the disk after a kill"
$(cat "$tmp/image.py")
assert image(h) and h.can_multi_conn()
END
wait_for 20 gone || fail "memory of clones after a kill: $(pool_bytes), not $before"
stop_nbdkit || fail "last: exit status $?"
