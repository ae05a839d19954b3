#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Snapshots while eight writers work: each writes two copies of a counter, far from
# one another, always in the same order and each after the other was acknowledged;
# in every snapshot the first is as the second or one ahead of it. A snapshot never
# changes afterwards, while writers go on. Beside that another client's small reads
# take no longer than twice the usual at the 99th percentile, also while a large
# disk is deleted.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 4G -e work,size=1G -e other,size=16M
peer "$(scaled 100 12)" "$(scaled 8192 256)" <<'END' || fail "snapshots beside writers"
import hashlib
count, large = int(args[0]), min(int(args[1]), 2048)
SLOT, FAR, WRITERS = 64 * 1024, 512 * MIB, 8

with Peer.open("simple", name="work") as p:
    # What they do not change, so that there is something to be compared.
    p.write_all([(i * MIB + 32 * MIB, pattern(i, 4096) * 256)
                 for i in range(64)])
ask("create", name="large", keys=["size=16G"])
with Peer.open("simple", name="large") as p:
    text = pattern(99, 4096) * 256
    for i in range(0, large, 64):
        p.write_all([(j * MIB, text) for j in range(i, min(i + 64, large))])

def program(text, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.path.insert(0, %r)\n"
         "import select, time\nfrom peer import *\n"
         "def told():\n"
         "    return select.select([sys.stdin], [], [], 0)[0]\n%s"
         % (sys.path[0], text), *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

writers = [program(r"""
number, slot, far = map(int, sys.argv[1:])
p = Peer.open("simple", name="work")
n, filler = 0, bytes([number]) * 4080
while n % 64 or not told():
    n += 1
    data = struct.pack(">QQ", number, n) + filler
    # In parts of blocks and whole ones.
    if n % 3 == 0:
        data = data[:100]
    p.write(number * slot, data)
    p.write(far + number * slot, data)
print(n)
""", i, SLOT, FAR) for i in range(WRITERS)]

reader = program(r"""
p = Peer.open("simple", name="other")
p.write(0, b"r" * MIB)
def measure(until):
    times = []
    while not until(len(times)):
        started = time.monotonic()
        p.read(4096 * (len(times) % 256), 4096)
        times.append(time.monotonic() - started)
        time.sleep(.0005)
    times.sort()
    return len(times), times[len(times) * 99 // 100] * 1000
# Beside the writers, but without snapshots.
quiet = measure(lambda n: n >= 3000)
print("ready", flush=True)
beside = measure(lambda n: n % 64 == 0 and n > 0 and told())
print(*quiet, *beside, flush=True)
""")
assert reader.stdout.readline() == "ready\n"

def counters(p):
    found = []
    for i in range(WRITERS):
        pair = []
        for at in (i * SLOT, FAR + i * SLOT):
            number, n = struct.unpack(">QQ", p.read(at, 16))
            assert number == i or n == 0, (at, number, n)
            pair.append(n)
        found.append(tuple(pair))
    return found

def checksum(name):
    h = hashlib.sha256()
    with Peer.open("structured", name=name) as p:
        assert p.flags & F_READ_ONLY
        for at in (0, FAR):
            h.update(p.read(at, WRITERS * SLOT))
        for i in range(0, 64, 8):
            h.update(p.read(i * MIB + 32 * MIB, MIB))
    return h.hexdigest()

took, seen, sums, deleted = [], [], {}, False
for i in range(count):
    name = "s%d" % i
    started = time.monotonic()
    ask("snapshot", name="work", **{"as": name})
    took.append(time.monotonic() - started)
    with Peer.open("simple", name=name) as p:
        pairs = counters(p)
    for first, second in pairs:
        assert second <= first <= second + 1, (name, pairs)
    seen.append(pairs)
    sums[name] = checksum(name)
    if i == count // 2:
        ask("delete", name="large")
    # Those that are there already are as they were.
    old = random.choice(sorted(sums))
    assert checksum(old) == sums[old], old
    # One in four goes again.
    if i % 4 == 3:
        gone = "s%d" % (i - random.randrange(3))
        if gone in sums:
            ask("delete", name=gone, force=True)
            del sums[gone]
reader.stdin.close()
n, quiet, m, beside = map(float, reader.stdout.read().split())
assert reader.wait() == 0
for w in writers:
    w.stdin.close()
totals = [int(w.stdout.read()) for w in writers]
assert all(w.wait() == 0 for w in writers)
for name in sums:
    assert checksum(name) == sums[name], name
# They did go on, all of them.
for i in range(WRITERS):
    firsts = [pairs[i][0] for pairs in seen]
    assert firsts == sorted(firsts) and firsts[0] < firsts[-1] <= totals[i]
with Peer.open("simple", name="work") as p:
    assert counters(p) == [(t, t) for t in totals]
took.sort()
print("%d snapshots, half of them within %.1f ms, all within %.1f ms; %d writes"
      % (count, took[count // 2] * 1000, took[-1] * 1000, 2 * sum(totals)))
print("99%% of %d reads within %.2f ms beside writers, of %d within %.2f ms "
      "beside snapshots and a delete of %d MiB too"
      % (n, quiet, m, beside, large))
# The tests that run at the same time take processors too.
assert slow or beside < max(2 * quiet, 20), (quiet, beside)
assert eventually(20, lambda: ask("show")["pool"]["held"] < 512 * MIB)
ask("check")
END
stop_nbdramd
