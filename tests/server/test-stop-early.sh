#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGTERM and SIGINT at any moment of a start, from when there is a socket on:
# nbdramd ends in time, with status 0, and leaves no socket and no pool behind that
# was not there; also while it takes the memory of a large disk.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
peer "$nbdramd" "$tmp" "$pool" "$(scaled 2000 100)" "$end_seconds" <<'END' ||
import signal, subprocess
program, folder, pool, rounds, seconds = args
path = folder + "/s"
codes = {}
def stop(p, number):
    began = time.monotonic()
    p.send_signal(number)
    code = p.wait(60)
    took = time.monotonic() - began
    assert took < float(seconds), took
    assert not os.path.exists(path), "a socket is left"
    assert not os.path.exists(folder + "/c"), "a control socket is left"
    return code
for round in range(int(rounds)):
    p = subprocess.Popen(
        [program, "-p", pool, "-m", "64M", "-l", "unix:" + path, "-s",
         folder + "/c", "-e", "a,size=1G"], stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    assert eventually(60, lambda: os.path.exists(path))
    time.sleep(random.choice((0, 0, .001, .003, .01)) * random.random())
    code = stop(p, signal.SIGTERM if round % 3 else signal.SIGINT)
    assert code == 0, code
    # It may have come so far as to make the disk; then it is kept.
    if os.path.exists(pool):
        assert os.listdir(pool) == ["pool"], os.listdir(pool)
        for name in os.listdir(pool):
            os.unlink(pool + "/" + name)
        os.rmdir(pool)
END
	fail "in the first moments"

peer "$nbdramd" "$tmp" "$end_seconds" <<'END' || fail "while memory is taken"
import signal, subprocess
program, folder, seconds = args
path = folder + "/s"
with open("/proc/meminfo") as f:
    free = int(re.search(r"MemAvailable:\s+(\d+) kB", f.read()).group(1)) >> 10
size = min(4096, free // 4)
p = subprocess.Popen(
    [program, "-m", "%dM" % (size * 5 // 4), "-l", "unix:" + path, "-s",
     folder + "/c", "-e", "a,size=%dM,alloc=fixed" % size],
    stdin=subprocess.DEVNULL)
assert eventually(60, lambda: fields(p.pid, "RssShmem") > 32 * MIB)
began = time.monotonic()
p.send_signal(signal.SIGTERM)
assert p.wait(60) == 0
took = time.monotonic() - began
print("%.2f s" % took)
assert took < float(seconds), took
assert not os.path.exists(path), "a socket is left"
END
