# SPDX-License-Identifier: BSD-3-Clause
# A server for tests of links that does as a server should not.
#
#	liar.py MODE [ARGUMENT]
#
# listens to a port of 127.0.0.1, prints it, and then for each connection, by MODE:
#	silent	says nothing
#	close	closes
#	trickle	a good conversation, a byte at a time
#	endless	a good beginning, and then answers that have no end
#	cut	the first N bytes of a good conversation, N being the number of
#		connections so far, and closes
#	say HEX...	says that, each connection the next one, and waits for the
#		other side to close
#	full	takes no connection, and has no room for one that waits
#	proxy PORT STEP	gives what that server says, but only STEP bytes for each
#		connection so far, and closes
import socket
import struct
import sys
import threading
import time

MODE, ARGS = sys.argv[1], sys.argv[2:]
GO = 7


def answer(kind, data=b""):
    return struct.pack(">QIII", 0x3e889045565a9, GO, kind, len(data)) + data


HELLO = b"NBDMAGICIHAVEOPT\0\3"
EXPORT = answer(3, struct.pack(">HQH", 0, 1 << 20, 0x12d))
GOOD = (HELLO + answer(3, struct.pack(">HIII", 3, 1, 4096, 1 << 25)) + EXPORT +
        answer(1))


def drain(s):
    while s.recv(65536):
        pass


def pump(a, b, most):
    try:
        while most > 0:
            data = a.recv(min(most, 65536))
            if not data:
                break
            b.sendall(data)
            most -= len(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(s, n):
    if MODE == "silent":
        drain(s)
    elif MODE == "trickle":
        for i in range(len(GOOD)):
            s.sendall(GOOD[i:i + 1])
            time.sleep(0.002)
        drain(s)
    elif MODE == "endless":
        s.sendall(HELLO)
        while True:
            s.sendall(EXPORT)
            time.sleep(0.001)
    elif MODE == "cut":
        s.sendall(GOOD[:n])
        if n < len(GOOD):
            s.shutdown(socket.SHUT_WR)
        drain(s)
    elif MODE == "say":
        s.sendall(bytes.fromhex(ARGS[n]))
        drain(s)
    elif MODE == "proxy":
        up = socket.create_connection(("127.0.0.1", int(ARGS[0])))
        t = threading.Thread(target=pump, args=(s, up, 1 << 40))
        t.start()
        pump(up, s, n * int(ARGS[1]))
        t.join(5)


def run(s, n):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        serve(s, n)
    except OSError:
        pass
    s.close()


listener = socket.create_server(("127.0.0.1", 0),
                                backlog=0 if MODE == "full" else 100)
print(listener.getsockname()[1], flush=True)
if MODE == "full":
    kept = [socket.socket() for i in range(4)]
    for k in kept:
        k.setblocking(False)
        k.connect_ex(listener.getsockname())
    time.sleep(1000)
n = 0
while True:
    s, _ = listener.accept()
    threading.Thread(target=run, args=(s, n), daemon=True).start()
    n += 1
