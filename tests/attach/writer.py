#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writers of files that know what they have written: each makes a file, fsyncs it,
gives it its name, reads another one back, and deletes some. Ends at SIGTERM, or at
the first error.

usage: writer.py FOLDER WRITERS SUMS

Every line it prints is "N SLOWEST": files so far, and the longest time that one of
them took since the line before, in milliseconds; one a second and one for each
SIGUSR1. SUMS gets a line for each file that is left, for sha256sum -c."""
import hashlib
import os
import random
import signal
import sys
import threading
import time

folder, writers, sums = sys.argv[1], int(sys.argv[2]), sys.argv[3]
KEPT = 40
over = threading.Event()
lock = threading.Lock()
done, slowest, kept, wrong = 0, 0.0, [], []


def one(path, rng):
    """Make a file; its sum."""
    data = rng.randbytes(rng.choice((512, 5000, 20000, 150000)))
    with open(path + ".new", "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + ".new", path)
    return hashlib.sha256(data).hexdigest()


def check(path, digest):
    """From the disk, not from memory."""
    with open(path, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        found = hashlib.sha256(f.read()).hexdigest()
    assert found == digest, path + " has other contents"


def work(number):
    global done, slowest
    rng = random.Random(number)
    mine, n = [], 0
    try:
        while not over.is_set():
            began = time.monotonic()
            path = "%s/%d-%d" % (folder, number, n)
            mine.append((path, one(path, rng)))
            check(*rng.choice(mine))
            if len(mine) > KEPT:
                os.unlink(mine.pop(rng.randrange(len(mine)))[0])
            n += 1
            with lock:
                done += 1
                slowest = max(slowest, time.monotonic() - began)
    except BaseException as e:
        wrong.append("%s: %s" % (type(e).__name__, e))
        over.set()
    with lock:
        kept.extend(mine)


def tell(*_):
    global slowest
    with lock:
        text, slowest = "%d %d\n" % (done, slowest * 1000), 0.0
    os.write(1, text.encode())


told = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
signal.signal(signal.SIGUSR1, lambda *_: told.set())
threads = [threading.Thread(target=work, args=(i,)) for i in range(writers)]
for t in threads:
    t.start()
while not over.is_set():
    told.wait(1)
    told.clear()
    tell()
for t in threads:
    t.join()
tell()
with open(sums, "w") as f:
    for path, digest in kept:
        f.write("%s  %s\n" % (digest, path))
if wrong:
    sys.exit("writer: " + "; ".join(wrong))
