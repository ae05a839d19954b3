#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many names of templates: 1000 GOs over 32 connections at a time, none refused and
# none slow; two that open one new name at once get one disk; a client that asks for
# 100,000 names gets as many as it may have.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

conf=$tmp/conf
cat >"$conf" <<'END'
[pool]
size = 256M
[export golden]
size = 16M
[template host-*]
clone = golden
max-per-identity = 0
[template same-*]
size = 1M
max-per-identity = 0
[template bound-*]
size = 1M
max-per-identity = 50
END
start_nbdramd -c "$conf"
peer <<'END' || fail "many"
import select
import threading

def in_parallel(n, run):
    wrong = []
    def one(i):
        try:
            run(i)
        except BaseException as e:
            wrong.append(repr(e))
    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[:3]

# All from one thread, whose turns would be measured else.
times, lock = [], threading.Lock()
for first in range(0, 1000, 32):
    some = {}
    for k in range(first, min(first + 32, 1000)):
        p = Peer().hello()
        some[p.s.fileno()] = k, p
    begin = {}
    for fd, (k, p) in some.items():
        begin[fd] = time.monotonic()
        p.option(OPT_GO, p.info_data("host-%d" % k, (INFO_BLOCK_SIZE,)))
    while begin:
        for fd in select.select(list(begin), [], [], 60)[0]:
            times.append(time.monotonic() - begin.pop(fd))
            some[fd][1].take_info(OPT_GO)
    for k, p in some.values():
        p.close()
times.sort()
print("%d GOs: median %.1f ms, 99th percentile %.1f ms, longest %.1f ms"
      % (len(times), times[500] * 1e3, times[989] * 1e3, times[-1] * 1e3))
assert len(times) == 1000
assert times[989] < (20 if slow else 5), times[-20:]
assert len([n for n in disks() if n.startswith("host-")]) == 1000

# One disk for all that open a new name together.
for round in range(max(3, int(100 * scale))):
    barrier = threading.Barrier(8)
    seen = []
    def together(i):
        p = Peer().hello()
        barrier.wait(60)
        p.go("same-%d" % round)
        with lock:
            seen.append(ask("show", name="same-%d" % round)["disk"]["uuid"])
        p.write(i * 4096, pattern(i, 4096))
        barrier.wait(60)
        for k in range(8):
            assert p.read(k * 4096, 4096) == pattern(k, 4096)
        barrier.wait(60)
        p.close()
    in_parallel(8, together)
    assert len(set(seen)) == 1, seen

# Asked by one that will not end.
p = Peer().hello()
memory = fields(pid, "VmRSS")
for i in range(max(2000, int(100000 * scale))):
    try:
        q = None
        if i < 60:
            q = Peer().hello()
            q.go("bound-%d" % i)
        else:
            p.go("bound-%d" % i)
        assert i < 50, i
    except Refused as e:
        assert e.name == "ERR_POLICY" and "max-per-identity = 50" in e.text, e
        assert i >= 50
assert len([n for n in disks() if n.startswith("bound-")]) == 50
if not slow:
    assert fields(pid, "VmRSS") < memory + 32 * MIB
END
stop_nbdramd
