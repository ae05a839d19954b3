#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A service manager that asks for signs of life gets them in time, also while a
# client is busy; when nobody asks there are none.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

peer "$nbdramd" "$tmp" <<'END' || fail "watchdog"
import signal, subprocess
program, folder = args
def run(environment, seconds):
    """Times at which WATCHDOG=1 came."""
    told, path = folder + "/n", folder + "/s"
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(told)
    s.settimeout(60)
    # WATCHDOG_PID must be the server's own: the shell becomes it.
    p = subprocess.Popen(
        ["/bin/sh", "-c", environment + ' exec "$@"', "-", program, "-m",
         "64M", "-l", "unix:" + path, "-s", folder + "/c",
         "8T"], stdin=subprocess.DEVNULL,
        env=dict(os.environ, NOTIFY_SOCKET=told))
    try:
        while b"READY=1" not in s.recv(4096).split(b"\n"):
            pass
        ready = time.monotonic()
        client = Peer.open("simple", uri="nbd+unix:///?socket=" + path)
        s.setblocking(False)
        times = []
        while time.monotonic() < ready + seconds:
            client.trim(random.randrange(2**41), 2**32 - 1)
            try:
                if b"WATCHDOG=1" in s.recv(4096).split(b"\n"):
                    times.append(time.monotonic() - ready)
            except BlockingIOError:
                pass
        p.send_signal(signal.SIGTERM)
        assert p.wait(15) == 0
        return times
    finally:
        p.kill()
        p.wait()
        s.close()
        os.unlink(told)
times = run("WATCHDOG_PID=$$ WATCHDOG_USEC=1000000", 3)
print(times)
assert len(times) >= 4
assert all(b - a < 1 for a, b in zip([0] + times, times + [3]))
assert run("", .5) == []
assert run("WATCHDOG_PID=1 WATCHDOG_USEC=400000", .5) == []
END
