#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes to a disk until its server is gone; checks it afterwards.

kill-writer.py write URI BLOCKS LOG   prints "ready", then writes
kill-writer.py check URI BLOCKS LOG   compares the disk with what is in LOG

Each 8 bytes of a block hold the number of the write that filled it. LOG has a
line "BLOCK ANSWERED SENT": the last number that was acknowledged, and the last
one sent, which may be there instead.
"""
import nbd
import os
import random
import struct
import sys

what, uri, blocks, log = sys.argv[1:]
blocks = int(blocks)
state = {}
if os.path.exists(log):
    with open(log) as f:
        for line in f:
            block, answered, sent = map(int, line.split())
            state[block] = [answered, sent]


def connect():
    h = nbd.NBD()
    h.connect_uri(uri)
    return h


def check():
    h = connect()
    bad = 0
    for block in range(blocks):
        answered, sent = state.get(block, [0, 0])
        data = h.pread(4096, block * 4096)
        numbers = set(struct.unpack("<512Q", data))
        if len(numbers) != 1:
            print("block %d is a mixture of %s" % (block, sorted(numbers)))
            bad += 1
        elif numbers & {answered, sent} == set():
            print("block %d has write %d; acknowledged %d, sent %d"
                  % (block, numbers.pop(), answered, sent))
            bad += 1
        else:
            # What is there now is what must stay.
            state[block] = [numbers.pop()] * 2
    save()
    sys.exit(bad != 0)


def save():
    with open(log, "w") as f:
        for block, (answered, sent) in state.items():
            f.write("%d %d %d\n" % (block, answered, sent))


def write():
    random.seed(int(os.environ["NBDRAM_TEST_SEED"]) + os.getpid())
    number = max([sent for answered, sent in state.values()], default=0)
    busy = set()
    handles = [connect() for i in range(3)]
    print("ready", flush=True)
    try:
        while True:
            for h in handles:
                while h.aio_in_flight() < 8:
                    n = random.choice((1, 1, 1, 2, 3, 8, 40))
                    first = random.randrange(blocks - n + 1)
                    span = range(first, first + n)
                    # Of two writes of one block at once either may win.
                    if not busy.isdisjoint(span):
                        continue
                    number += 1
                    busy.update(span)
                    for block in span:
                        state.setdefault(block, [0, 0])[1] = number

                    def done(err, span=span, number=number):
                        if err.value == 0:
                            busy.difference_update(span)
                            for block in span:
                                state[block][0] = number
                        return 1

                    h.aio_pwrite(
                        nbd.Buffer.from_bytearray(
                            bytearray(struct.pack("<Q", number) * 512 * n)),
                        first * 4096, done)
                h.poll(0)
    except nbd.Error:
        pass
    print("%d writes sent" % number)
    save()


{"write": write, "check": check}[what]()
