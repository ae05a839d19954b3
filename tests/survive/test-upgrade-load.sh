#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGUSR2 a hundred times (scaled) under load by several clients that come back:
# every write that was acknowledged is there, whole replies and then the end is all
# that a client sees, and the service manager hears of each new process. Every tenth
# time the new program is one that fails. Descriptors and memory stay the same, and
# what is counted is right in the end.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
for where in folder memory; do
	mkdir "$tmp/$where"
	if [ "$where" = folder ]; then
		keep=(-p "$pool")
	else
		keep=()
	fi
	peer "$nbdramd" "$tmp/$where" "$(scaled 100 10)" "${keep[@]}" <<'END' ||
import shutil
from survive import *
folder, rounds = args[1], int(args[2])
program = folder + "/nbdramd"
def install(text=None):
    """Put another program there, as a package manager would."""
    if text is None:
        shutil.copy(args[0], program + ".new")
    else:
        with open(program + ".new", "w") as f:
            f.write(text)
        os.chmod(program + ".new", 0o755)
    os.rename(program + ".new", program)
adopt_children()
install()
disks_ = [a for i in range(4) for a in ("-e", "d%d,size=4M" % i)]
d = Daemon(program, folder, "-m", "256M", *args[3:], *disks_).start()
try:
    clients = work(d, 4, 1024, os.environ["NBDRAM_TEST_SEED"], cut=False)
    flat, gaps, failed = None, [], 0
    for round in range(rounds):
        progress(clients, 5)
        if round % 10 == 4:
            install(random.choice((
                "#!/bin/sh\nexit 3\n", "no program\n",
                "#!/bin/sh\nkill -SEGV $$\n")))
            old, said = d.pid, d.upgrade_fails()
            install()
            failed += 1
            assert "this one goes on" in said, said
            assert old == d.pid
        else:
            d.upgrade()
        began = time.monotonic()
        progress(clients, 2)
        gaps.append(max(c.served for c in clients) - began)
        now = descriptors(d.pid), fields(d.pid, "RssAnon")
        # What belongs to clients comes and goes.
        if round == 2:
            flat = now
    print("descriptors, memory:", flat, now)
    assert now[0] <= flat[0] + 8, (flat, now)
    assert slow or now[1] <= flat[1] + 4 * MIB, (flat, now)
    for c in clients:
        c.stop()
    print("%d upgrades, %d failed; %d writes, %d commands, %d reconnects"
          % (rounds, failed, sum(c.acknowledged for c in clients),
             sum(c.made for c in clients), sum(c.reconnects for c in clients)))
    with Control(d.control) as c:
        c.ask("check")
    d.stop()
    assert not os.path.exists(d.path) and not os.path.exists(d.control)
finally:
    d.end()
    print(d.said()[-6000:])
assert "Sanitizer" not in d.said() and "runtime error" not in d.said()
END
		fail "with the pool in: $where"
done
