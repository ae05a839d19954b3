#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# full = error: who finds no memory is told at once, and what comes back serves
# the next; full = wait TIME waits so long. A reload changes it for those that are
# there.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

config()
{
	printf '%s\n' "[pool]" "size = 64M" "$@" "[export a]" "size = 1G" \
		"default = yes" >"$conf"
}

cat >"$tmp/full.py" <<'END'
least, most = float(args[0]), float(args[1])
N = 262144
block = pattern(1, N)
with Peer.open() as p:
    written = 0
    while True:
        started = time.monotonic()
        try:
            p.write(written * N, block)
        except Refused as e:
            assert e.name == "ENOSPC", e
            break
        written += 1
    took = time.monotonic() - started
    print("%d KiB; ENOSPC after %.2f s" % (written * N // 1024, took))
    assert written * N > 40 * MIB
    assert least <= took < (most if not slow else most + 5), took
    started = time.monotonic()
    refused("ENOSPC", p.write, 512 * MIB, b"x")
    took = time.monotonic() - started
    assert least <= took < (most if not slow else most + 5), took
    # What is there can be read and overwritten; a trim makes room.
    p.write(0, pattern(2, N))
    assert p.read(0, N) == pattern(2, N)
    for i in range(20):
        p.trim(0, 4 * MIB)
        for at in range(0, 4 * MIB, N):
            p.write(at, block)
    p.trim(0, written * N)
    p.flush()
    p.disc()
END

config "full = error"
start_nbdramd --both -c "$conf"
peer 0 1 <"$tmp/full.py" || fail "full = error"
config "full = wait 1500ms"
reload_good "full = wait 1500ms"
peer 1.4 4 <"$tmp/full.py" || fail "full = wait 1500ms"
config "full = error"
reload_good "full = error"
uri=$tcp_uri peer 0 1 <"$tmp/full.py" || fail "full = error again"
