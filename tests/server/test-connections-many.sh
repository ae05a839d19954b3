#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 1000 connections opened 32 at a time, in and out again; none is lost.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 1M
peer "$(scaled 1000 1000)" <<'END' || fail "connections"
import threading
n, done, lock = int(args[0]), [], threading.Lock()
def work(k):
    for i in range(k, n, 32):
        with Peer(tcp_uri if i % 2 else None) as p:
            p.hello().go()
            p.write(0, b"x")
            p.disc()
            p.closed()
        done.append(i)
started = time.monotonic()
threads = [threading.Thread(target=work, args=(k,)) for k in range(32)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("%d connections: %.2f s" % (n, time.monotonic() - started))
assert len(done) == n
END
