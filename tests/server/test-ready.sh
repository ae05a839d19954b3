#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# READY=1 is told when clients are let in, not before: a client that attaches the
# moment it comes gets in, 50 times. STOPPING=1 is told at the end.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

peer "$nbdramd" "$tmp" "$(scaled 1000 50)" <<'END' || fail "READY=1"
import signal, subprocess
program, folder, rounds = args[0], args[1], int(args[2])
for round in range(rounds):
    path, told = folder + "/r%d" % round, folder + "/n%d" % round
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(told)
    s.settimeout(60)
    if round % 2:
        where, uri = "unix:" + path, "nbd+unix:///?socket=" + path
    else:
        # A port that was free a moment ago.
        t = socket.socket()
        t.bind(("127.0.0.1", 0))
        where = "127.0.0.1:%d" % t.getsockname()[1]
        uri = "nbd://" + where
        t.close()
    with open(folder + "/log", "a") as log:
        p = subprocess.Popen(
            [program, "-m", "64M", "-l", where, "-s", folder + "/c", "1M"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=dict(os.environ, NOTIFY_SOCKET=told))
    try:
        while b"READY=1" not in s.recv(4096).split(b"\n"):
            pass
        with Peer(uri) as client:
            client.hello().go().disc()
            client.closed()
        p.send_signal(signal.SIGTERM if round % 3 else signal.SIGINT)
        while b"STOPPING=1" not in s.recv(4096).split(b"\n"):
            pass
        assert p.wait(15) == 0
    finally:
        p.kill()
        p.wait()
    s.close()
END
