#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Between clients and a server: each connection by a process of its own, which can be
stopped and let go on.

usage: relay.py PORT SERVER-PORT"""
import os
import signal
import socket
import sys
import threading


def copy(a, b):
    try:
        while data := a.recv(1 << 16):
            b.sendall(data)
    except OSError:
        pass
    os._exit(0)


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
while True:
    client, _ = listener.accept()
    if os.fork() == 0:
        server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
        threading.Thread(target=copy, args=(server, client)).start()
        copy(client, server)
    client.close()
