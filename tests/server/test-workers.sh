#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Other numbers of workers, and busy polling: the same service, and the end comes
# as fast.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for options in workers=1 workers=7 "workers=2 -o busy-poll=1000" \
		"workers=1 -o busy-poll=1000000" warm=0; do
	# shellcheck disable=SC2086
	start_nbdramd --both -m 64M -o $options 16M
	peer <<'END' || fail "$options"
peers = [Peer.open(KINDS[i % 3], uri=tcp_uri if i % 2 else None)
         for i in range(20)]
for i, p in enumerate(peers):
    p.write(i * 65536, struct.pack(">I", i) * 16384)
for i, p in enumerate(reversed(peers)):
    assert p.read(i * 65536, 65536) == struct.pack(">I", i) * 16384
for p in peers[::2]:
    p.reset()
for p in peers[1::2]:
    p.flush()
END
	stop_nbdramd
done
