#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages that are none: cut, huge, nested, binary, of another shape. Each gets one
# clear line, and the connection ends; the server goes on.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 64M -e a,size=1M
peer "$(scaled 2000 100)" <<'END' || fail "bad messages"
def bad(data, shut=False):
    with Control() as c:
        try:
            c.send(data)
            if shut:
                c.s.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        line = c.line()
        assert line and line["ok"] is False, (data[:80], line)
        assert c.line() is None
        return line["code"], line["error"]
for data in (b"\n", b"{}\n", b"[]\n", b"null\n", b"hello\n", b"{\n", b"\0\n",
             b'{"command":1}\n', b'{"command":"list","args":[]}\n',
             b'{"command":"list","more":1}\n', b'{"command":"list"} x\n',
             b'{"command":"list","command":"stats"}\n',
             b'{"command":"li\xff"}\n', b'{"command":"a\\u0000"}\n',
             b'{"command":"show","args":{"name":"\\ud800"}}\n',
             b"[" * 60000 + b"\n", b'{"a":' * 10000 + b"\n",
             b'{"command":"list","args":' + b"[" * 9 + b"]" * 9 + b"}\n",
             b"\x16\x03\x01\x02\x00" * 100 + b"\n", b"GET / HTTP/1.1\r\n\r\n"):
    code, text = bad(data)
    print(data[:40], code, text)
    assert code == "protocol", code
for data in (b"x" * 65537, b"x" * 1000000, b" " * 70000 + b"\n",
             b'{"command":"' + b"x" * 66000 + b'"}\n'):
    code, text = bad(data)
    assert code == "protocol" and "64 KiB" in text, text
code, text = bad(b'{"command":"list"', shut=True)
assert "no end" in text, text
for data in (b'{"command":"","args":{}}\n', b'{"command":"lst"}\n',
             b'{"command":"list","args":{"name":"a"}}\n',
             b'{"command":"delete","args":{"nmae":"a"}}\n'):
    code, text = bad(data)
    print(data, text)
    assert code == "usage"
# Just as long as may be.
with Control() as c:
    c.send(b'{"command":"list"' + b" " * (65536 - 18) + b"}\n")
    c.answer()
    # In single bytes, and several in one.
    for byte in b'{"command":"list"}\n':
        c.send(bytes([byte]))
    c.answer()
    c.send(b'{"command":"list"}\r\n' * 3)
    for i in range(3):
        c.answer()
# Half-closed: what was asked is answered.
with Control() as c:
    c.request("list")
    c.s.shutdown(socket.SHUT_WR)
    c.answer()
    assert c.line() is None
# Anything.
good = [b'{"command":"show","args":{"name":"a","config":true}}\n',
        b'{"command":"create","args":{"name":"b","keys":["size=1M"]}}\n',
        b'{"command":"delete","args":{"name":"b"}}\n']
for i in range(int(args[0])):
    data = bytearray(random.choice(good) * random.randrange(1, 4))
    for j in range(random.randrange(1, 6)):
        at = random.randrange(len(data))
        what = random.randrange(3)
        if what == 0:
            data[at] = random.randrange(256)
        elif what == 1:
            del data[at:at + random.randrange(1, 9)]
        else:
            data[at:at] = random.randbytes(random.randrange(1, 5))
        if not data:
            data = bytearray(b"\n")
    with Control() as c:
        try:
            c.send(data)
            c.s.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass
        while c.line() is not None:
            pass
assert "a" in disks()
END
stop_nbdramd
