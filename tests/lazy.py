# SPDX-License-Identifier: BSD-3-Clause
"""Images that are loaded behind (load = lazy), with slow-files.c ahead of nbdramd: a
file is read when the test lets it be; for programs of peer()."""
import os
import random
import select

from peer import MIB

CHUNK = 256 << 10               # what is read at a time


class Gate:
    """Of the fifo NBDRAM_TEST_READS."""

    def __init__(self, path):
        # On both sides, so that no byte is lost when a reader goes.
        self.fd = os.open(path, os.O_RDWR)

    def let(self, n):
        """So many reads of files may be done."""
        os.write(self.fd, b"." * n)

    def shut(self):
        while select.select([self.fd], [], [], 0)[0]:
            os.read(self.fd, 65536)


def make_image(path, seed):
    """Data, a hole of 1 MiB, data with zeroes that are written, an odd end."""
    want = bytearray(random.Random(seed).randbytes(4 * MIB + 700))
    want[MIB:2 * MIB] = bytes(MIB)
    want[3 * MIB:3 * MIB + 40960] = bytes(40960)
    with open(path, "wb") as f:
        f.write(want[:MIB])
        f.seek(2 * MIB)
        f.write(want[2 * MIB:])
    return want


def send(p, *request, **more):
    """The request, of which the answer is to come."""
    data = p.prepare(*request, **more)
    p.send(data)
    return list(p.pending.values())[-1][-1]


def take(p, *wanted):
    """Answers, until these have come."""
    came = []
    while any(r not in came for r in wanted):
        came.append(p.answer())
    return came


def same(got, want):
    """Equal, or at which block they differ."""
    assert len(got) == len(want), (len(got), len(want))
    for at in range(0, len(want), 4096):
        assert got[at:at + 4096] == want[at:at + 4096], at
