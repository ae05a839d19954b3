#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ctrl-C, or whatever ends the connection, ends the command on the server too; short
# commands do not wait for long ones.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -v -m 256M -e a,size=200M
peer <<'END' || fail "cancel"
p = Peer.open(name="a")
p.write_all([(i * MIB, b"x" * MIB) for i in range(100)])
for i in range(300):
    ask("clone", **{"from": "a", "to": "c%d" % i})
# Many long ones, which nobody waits for.
log = os.environ.get("log")
for round in range(3):
    runs = [subprocess.Popen([os.environ["NBDRAMCTL"], "-s",
                              os.environ["NBDRAM_CONTROL"], command])
            for command in ("list", "check") * 4]
    started = time.monotonic()
    ask("clients")
    took = time.monotonic() - started
    print("a short one took %.3f s" % took)
    assert slow or took < 2
    for r in runs:
        r.send_signal(2)
    for r in runs:
        assert r.wait() in (-2, 0)
sockets = [Control() for i in range(40)]
for s in sockets:
    s.request("check")
    s.request("list")
for s in sockets:
    s.s.close()
started = time.monotonic()
ask("list")
took = time.monotonic() - started
print("a long one behind those that were given up: %.3f s" % took)
assert slow or took < 5
END
stop_nbdramd
