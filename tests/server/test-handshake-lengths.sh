#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lengths of the option and of the name in it that do not fit each other, in all
# pairs of nasty numbers: one error, and in step afterwards; or the end of this
# connection when the option's end lies beyond what was sent.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

everywhere <<'END'
LENGTHS = (0, 1, 5, 6, 255, 256, 4096, 4097, 65535, 2**31, 2**32 - 1)

def good(p):
    p.go()
    p.write(0, b"in step")
    assert p.read(0, 7) == b"in step"

def wrong(number, options, after):
    """Options as (length, data): each gets an error, then `after` works."""
    with Peer().hello() as p:
        if number in (OPT_LIST_META_CONTEXT, OPT_SET_META_CONTEXT):
            p.structured()
        for length, data in options:
            p.option(number, data, length)
            e = refused(("ERR_INVALID", "ERR_TOO_BIG", "ERR_UNKNOWN"),
                        p.answers, number, None)
        after(p)

for number in (OPT_INFO, OPT_GO, OPT_LIST_META_CONTEXT, OPT_SET_META_CONTEXT):
    options = []
    for length in LENGTHS:
        # All of the option is sent, so the next one begins where it says.
        if length > 65535 or nbdkit("long-options") and length > 4096:
            continue
        for name in LENGTHS:
            data = struct.pack(">I", name) + b"n" * length
            # Empty names with nothing behind them are no error.
            data = data[:length].ljust(length, b"\0")
            if length >= 6 and name == 0 and number in (OPT_INFO, OPT_GO):
                continue
            options.append((length, data))
    # nbdkit hangs up on who asks for too many.
    few = 20 if nbdkit("32-options") else len(options)
    for i in range(0, len(options), few):
        wrong(number, options[i:i + few], good)

# Longer than anything a server should read: a disconnect, or all of it goes by;
# never much memory. The first is not waited for to its end.
before = fields(pid, "VmRSS")
for number in (OPT_INFO, OPT_GO, OPT_LIST, OPT_STARTTLS, OPT_EXPORT_NAME,
               OPT_SET_META_CONTEXT, OPT_STRUCTURED_REPLY, 99):
    for length in (2**31, 2**32 - 1):
        for name in LENGTHS:
            with Peer().hello() as p:
                try:
                    p.option(number, struct.pack(">I", name) + bytes(5000),
                             length)
                except OSError:
                    pass
with Peer().hello() as p:
    good(p)
assert slow or fields(pid, "VmRSS") - before < 8 * MIB

# What is long but well formed is let go by, however long.
if not nbdkit("long-options"):
    with Peer().hello() as p:
        for number, error in ((OPT_GO, "ERR_TOO_BIG"),
                              (OPT_LIST, "ERR_INVALID"), (77, "ERR_UNSUP")):
            p.option(number, bytes(3 * MIB))
            refused(error, p.answers, number, None)
        good(p)

# An EXPORT_NAME cannot be refused but by hanging up.
for n in (256, 4096, 4097, 70000):
    if nbdkit("any-name") and n <= 4096:
        continue
    with Peer().hello() as p:
        try:
            p.option(OPT_EXPORT_NAME, b"n" * n)
        except OSError:
            pass
        p.closed()
END
