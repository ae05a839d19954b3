#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The old server is killed in the midst of an upgrade (scaled: so many times): the new
# one serves, or ends; then a start finds all that was acknowledged, as always. Never
# do two of them have the pool.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
mkdir "$tmp/folder"
peer "$nbdramd" "$tmp/folder" "$(scaled 300 15)" "$pool" <<'END' ||
from survive import *
program, folder, rounds, pool = args[0], args[1], int(args[2]), args[3]
adopt_children()
disks_ = [a for i in range(3) for a in ("-e", "d%d,size=4M" % i)]
d = Daemon(program, folder, "-m", "256M", "-p", pool, *disks_).start()

new_ones = 0
try:
    clients = work(d, 3, 1024, os.environ["NBDRAM_TEST_SEED"])
    began = time.monotonic()
    d.upgrade()
    usual = time.monotonic() - began
    for round in range(rounds):
        progress(clients, 2)
        d.drain()
        os.kill(d.pid, signal.SIGUSR2)
        time.sleep(random.random() * 1.5 * usual)
        try:
            os.kill(d.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        d.ended()
        # Whoever is left serves soon, or ends.
        want = [c.acknowledged + 2 for c in clients]
        def settled():
            fine(clients)
            return not children() or all(
                c.acknowledged >= n for c, n in zip(clients, want))
        assert eventually(60, settled), "neither here nor there"
        left = children()
        assert len(left) <= 1, left
        if left:
            d.pid = left[0]
            new_ones += 1
        else:
            while True:
                # Those that have ended are ours to bury.
                try:
                    if not os.waitpid(-1, os.WNOHANG)[0]:
                        break
                except ChildProcessError:
                    break
            d.start()
    progress(clients, 2)
    for c in clients:
        c.stop()
    with Control(d.control) as c:
        c.ask("check")
    d.stop()
    print("%d rounds, %d times the new one served" % (rounds, new_ones))
    assert 0 < new_ones < rounds or rounds < 15
finally:
    d.end()
    said = re.sub("(?m)^.*(opened|listening|kept, and).*\n", "", d.said())
    print(said[-4000:])
assert "Sanitizer" not in d.said()
END
	fail "see above"
