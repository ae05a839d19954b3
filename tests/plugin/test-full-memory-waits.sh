#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A writer that finds the pool full waits for memory; another client's trim is
# not held up by any number of those who wait, and they go on.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

start_nbdkit 1T memory=64M
client <<'END' || fail "waiting"
n, block = 2**16, random.randbytes(2**16)
full = 0
try:
    while True:
        h.pwrite(block, full * n)
        full += 1
except nbd.Error as e:
    assert e.errno == "ENOSPC", e

# More writers than there are threads for one connection, and more than half
# the places of the plugin.
writers = [connect() for i in range(12)]
results = []
def done(err):
    results.append((time.time(), err.value))
    return 1
keep = []
for i, w in enumerate(writers):
    for j in range(16):
        buf = nbd.Buffer.from_bytearray(bytearray(block))
        keep.append(buf)
        w.aio_pwrite(buf, 2**38 + (i * 16 + j) * n, done)
def turn(seconds):
    until = time.time() + seconds
    while time.time() < until and len(results) < len(keep):
        for w in writers:
            if w.aio_in_flight():
                w.poll(1)
turn(1)
waiting = len(keep) - len(results)
print("%d of %d writers wait" % (waiting, len(keep)))
reader, trimmer = connect(), connect()
started = time.time()
assert reader.pread(n, 0) == block
print("read beside them: %.3f s" % (time.time() - started))
assert time.time() - started < 1
started = time.time()
trimmer.trim(full // 2 * n, 0)
print("trim beside them: %.3f s" % (time.time() - started))
assert time.time() - started < 1
turn(7)
assert len(results) == len(keep)
good = sum(1 for when, err in results if err == 0)
late = max(when for when, err in results) - started
print("%d of them were written, the last %.2f s after the trim" % (good, late))
if waiting:
    assert good >= waiting
for i in range(good == len(keep) and len(keep)):
    assert h.pread(n, 2**38 + i * n) == block
END
