#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Connections that send a byte now and then, and never a whole line, keep nobody out;
# nor does sending keep one that reads no answer.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 64M -e a,size=1M
peer <<'END' || fail "trickle"
import threading
over = threading.Event()
gone = 0

def trickle(sockets):
    global gone
    while not over.wait(0.2):
        for s in list(sockets):
            try:
                s.send(b" ")
            except BlockingIOError:
                pass
            except OSError:
                sockets.remove(s)
                gone += 1

def run(sockets):
    for s in sockets:
        s.setblocking(False)
    t = threading.Thread(target=trickle, args=(sockets,))
    t.start()
    return t

slow_ones = [Control().s for i in range(200)]
t = run(list(slow_ones))
started = time.monotonic()
for i in range(3):
    assert len(ask("list")["disks"]) == 1
print("served after %.1f s, %d have given way" % (
    time.monotonic() - started, gone))
over.set()
t.join()
assert 0 < gone < 200, gone
for s in slow_ones:
    s.close()

# An answer that is not read, with more bytes behind it.
over.clear()
for i in range(200):
    ask("clone", **{"from": "a", "to": "%0200d" % i})
gone, unread = 0, Control()
for i in range(14):
    unread.request("list")
t = run([unread.s])
assert eventually(90, lambda: gone), "it is kept"
over.set()
t.join()
END
grep -q 'does not read its answer' "$log" || fail "nothing in the log"
stop_nbdramd
