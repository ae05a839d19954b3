#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many more requests at once than the plugin has places for: all are answered,
# and rightly.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

start_nbdkit 256M memory=512M
client "$(scaled 200 40)" <<'END' || fail "many connections"
handles = [connect() for i in range(40)]
n, rounds = 16, int(args[0])
expect = {}
failed = []
for r in range(rounds):
    work = []
    for i, c in enumerate(handles):
        for j in range(n):
            off = ((i * n + j) * 97 % (40 * n)) * 65536
            data = b"%08d" % random.randrange(10**8) * 512
            buf = nbd.Buffer.from_bytearray(bytearray(data))
            expect[off] = data
            def done(err):
                if err.value:
                    failed.append(err.value)
                return 1
            work.append(buf)
            c.aio_pwrite(buf, off, done)
    while any([c.aio_in_flight() for c in handles]):
        for c in handles:
            if c.aio_in_flight():
                c.poll(0)
    assert not failed, failed
for off, data in expect.items():
    assert h.pread(4096, off) == data
    assert h.pread(4, off + 4096) == bytes(4)
print("%d writes" % (rounds * n * 40))
END
