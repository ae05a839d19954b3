#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 a thousand times (scaled) at any moment, under mixed load by several clients
# over TCP that come back: whole blocks and parts, trims, zeroes, snapshots, clones,
# rollbacks and deletes. What was acknowledged is there, what was not is there or not
# in whole blocks, nothing is another disk's, and the pool is sound. Tells how long it
# takes until clients are served again.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
mkdir "$tmp/folder"
peer "$nbdramd" "$tmp/folder" "$(scaled 1000 20)" "$pool" <<'END' ||
from survive import *
program, folder, rounds, pool = args[0], args[1], int(args[2]), args[3]
disks_ = [a for i in range(4) for a in ("-e", "d%d,size=4M" % i)]
d = Daemon(program, folder, "-m", "256M", "-p", pool, *disks_).start()
seed = int(os.environ["NBDRAM_TEST_SEED"])
starts, back = [], []
try:
    clients = work(d, 4, 1024, seed)
    for round in range(rounds):
        progress(clients, 1)
        time.sleep(random.choice((0, random.random() * .02,
                                  random.random() * .2)))
        d.kill()
        fine(clients)
        began = time.monotonic()
        d.start()
        starts.append(time.monotonic() - began)
        progress(clients, 1)
        back.append(max(c.served for c in clients) - began)
        if round % 10 == 0:
            with Control(d.control) as c:
                c.ask("check")
    for c in clients:
        c.stop()
    with Control(d.control) as c:
        c.ask("check")
    d.stop()
    print("%d kills; %d requests, %d commands, %d reconnects"
          % (rounds, sum(c.acknowledged for c in clients),
             sum(c.made for c in clients), sum(c.reconnects for c in clients)))
    print("ready again after %.0f ms, all clients served after %.0f ms "
          "(medians)" % (sorted(starts)[rounds // 2] * 1000,
                         sorted(back)[rounds // 2] * 1000))
    assert sum(c.made for c in clients) >= rounds // 4
finally:
    d.end()
    said = re.sub("(?m)^.*(opened|listening|kept, and).*\n", "", d.said())
    print(said[-4000:])
assert "error" not in d.said(), "an error was logged"
assert "Sanitizer" not in d.said()
END
	fail "see above"
