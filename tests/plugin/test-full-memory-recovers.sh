#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many writers in a pool that is too small for them, beside overwriting and
# trims; whatever came of their writes, after a trim everybody can write again at
# once.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

start_nbdkit 1T memory=64M
client "$(scaled 60 6)" <<'END' || fail "full pool under load"
clients = [connect() for i in range(8)]
n = 2**16
data = nbd.Buffer.from_bytearray(bytearray(random.randbytes(n)))
failed = 0
def done(err):
    global failed
    assert err.value in (0, errno.ENOSPC)
    failed += err.value != 0
    return 1

for round in range(int(args[0])):
    for i in range(400):
        for c in clients:
            if c.aio_in_flight() < 16:
                off = random.randrange(1200) * n
                if random.random() < .8:
                    c.aio_pwrite(data, off, done)
                else:
                    c.aio_trim(n, off, done)
            c.poll(0)
    for c in clients:
        while c.aio_in_flight():
            c.poll(-1)
    started = time.time()
    for c in clients:
        c.trim(2**27, 0)
    for c in clients:
        for i in range(20):
            c.pwrite(bytes(n), random.randrange(100) * n)
    assert time.time() - started < 3, time.time() - started
print("%d writes were refused" % failed)
END
