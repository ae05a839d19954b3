#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A client that does not read its answers holds nobody up, costs a bounded amount of
# memory, and is let go.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 64M -e a,size=1M
peer <<'END' || fail "unread answers"
for i in range(300):
    ask("create", name="n" * 200 + str(i), keys=["size=1M"])
before = fields(pid, "VmRSS")
deaf = []
for i in range(8):
    c = Control()
    c.s.setblocking(False)
    line = json.dumps({"command": "list", "args": {}}).encode() + b"\n"
    try:
        for j in range(10000):
            c.s.send(line)
    except BlockingIOError:
        pass
    c.s.setblocking(True)
    deaf.append(c)
started = time.monotonic()
for i in range(10):
    assert len(disks()) == 301
took = time.monotonic() - started
print("10 lists in %.2f s" % took)
assert slow or took < 5
after = fields(pid, "VmRSS")
print("memory: %d KiB more" % ((after - before) >> 10))
assert slow or after - before < 32 * MIB
# What has come already could still be read; nobody does.
def let_go(c):
    p = select.poll()
    p.register(c.s, 0)
    return any(what & select.POLLHUP for _, what in p.poll(0))
assert eventually(60, lambda: all(let_go(c) for c in deaf))
END
grep -q 'does not read its answer' "$log" || fail "nothing in the log"
stop_nbdramd
