# SPDX-License-Identifier: BSD-3-Clause
"""A server that is killed and replaced, and clients that live through it and know
what they may find; for programs of peer().

Daemon is an nbdramd that this program has started, or the one that has taken its
place. Client is a thread that writes to a disk of its own, keeps a model of it, and
connects again whenever it has lost its connection."""
import ctypes
import faulthandler
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time

from control import Control, Failed
from peer import (Closed, NO_HOLE, Peer, TRIM, WRITE, WRITE_ZEROES, WireError,
                  must)

BLOCK = 4096
PR_SET_CHILD_SUBREAPER = 36


def adopt_children():
    """Whoever a child of ours leaves behind becomes ours."""
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def children():
    """Of ours, but for zombies: [(process, state)]."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%d/stat" % int(pid)) as f:
                rest = f.read().rsplit(")", 1)[1].split()
            if int(rest[1]) == os.getpid() and rest[0] != "Z":
                found.append(int(pid))
        except (ValueError, OSError):
            pass
    return found


class Daemon:
    """Listens to a Unix socket and a TCP port of 127.0.0.1, which is the same
    again after a restart."""

    def __init__(self, program, folder, *arguments, where="tcp", env=()):
        self.folder, self.arguments = folder, list(arguments)
        self.program = program
        self.path = folder + "/nbd"
        self.control = folder + "/control"
        self.log = open(folder + "/log", "a+")
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(folder + "/notify")
        self.env = dict(os.environ, NOTIFY_SOCKET=folder + "/notify",
                        **dict(env))
        self.port, self.where = 0, where
        self.pid = None

    @property
    def uri(self):
        return "nbd://127.0.0.1:%d" % self.port if self.where == "tcp" \
            else "nbd+unix:///?socket=" + self.path

    def said(self, since=0):
        self.log.flush()
        with open(self.folder + "/log", errors="replace") as f:
            f.seek(since)
            return f.read()

    def size_of_log(self):
        return os.path.getsize(self.folder + "/log")

    def drain(self):
        """Forget messages so far: there is room for few."""
        self.notify.settimeout(0)
        try:
            while True:
                self.notify.recv(4096)
        except BlockingIOError:
            pass

    def hear(self, what, seconds=60):
        """Wait for a message with a line that begins so; the line's rest. None:
        the time is over, or the process has ended."""
        until = time.monotonic() + seconds
        self.notify.settimeout(0.2)
        while time.monotonic() < until:
            try:
                lines = self.notify.recv(4096).decode().split("\n")
            except TimeoutError:
                if self.process.poll() is not None and seconds > 5:
                    until = min(until, time.monotonic() + 1)
                continue
            for line in lines:
                if line.startswith(what):
                    return line[len(what):]
        return None

    def start(self):
        since = self.size_of_log()
        self.drain()
        self.process = subprocess.Popen(
            [self.program, "-l", "unix:" + self.path,
             "-l", "127.0.0.1:%d" % self.port, "-s", self.control,
             *self.arguments],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=self.env)
        self.pid = self.process.pid
        assert self.hear("READY=1", 120) is not None, \
            "it does not start (%s): %s" % (self.process.poll(),
                                            self.said(since))
        if not self.port:
            self.port = int(re.search(r"listening to 127\.0\.0\.1:(\d+)$",
                                      self.said(since), re.M)[1])
        return self

    def ended(self, seconds=30):
        """The exit status, once it has ended (as of subprocess)."""
        until = time.monotonic() + seconds
        while True:
            if self.pid == self.process.pid:
                status = self.process.poll()
                if status is not None:
                    return status
            else:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < until, "it does not end"
            time.sleep(0.005)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        assert self.ended() == -signal.SIGKILL

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        status = self.ended()
        assert status == 0, "exit status %d" % status

    def end(self):
        """However it is: gone."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except (ProcessLookupError, TypeError):
            pass

    def upgrade(self, seconds=60):
        """SIGUSR2, and the new one serves. The old one ends with 0."""
        since = self.size_of_log()
        self.drain()
        os.kill(self.pid, signal.SIGUSR2)
        new = self.hear("MAINPID=", seconds)
        assert new is not None, "no MAINPID: " + self.said(since)
        assert self.ended() == 0
        old, self.pid = self.pid, int(new)
        assert self.pid != old
        os.kill(self.pid, 0)

    def upgrade_fails(self, seconds=60):
        """SIGUSR2, and the old one goes on; what is logged."""
        since = self.size_of_log()
        self.drain()
        os.kill(self.pid, signal.SIGUSR2)
        assert self.hear("RELOADING=1", seconds) is not None, \
            self.said(since)
        assert self.hear("READY=1", seconds) is not None, self.said(since)
        os.kill(self.pid, 0)
        return self.said(since)


class Client(threading.Thread):
    """Works on a disk of this name, which nobody else writes to, until stop() or
    something is wrong, which is in self.wrong then."""

    def __init__(self, daemon, name, blocks, seed, cut=True, commands=True,
                 most=8):
        super().__init__(name=name, daemon=True)
        self.server, self.disk, self.blocks = daemon, name, blocks
        self.random = random.Random("%s %s" % (seed, name))
        self.cut, self.commands, self.most = cut, commands, most
        self.model = {}         # block -> what may be there; none: zeroes
        self.copies = {}        # snapshot -> its model
        self.under_way = None   # a command that was not answered
        self.count = 0          # of contents, each its own
        self.acknowledged = self.reconnects = self.made = 0
        self.peer, self.stopping, self.wrong = None, False, None
        self.served = 0         # when the first answer came, each time

    # ------------------------------------------------------------- the loop

    def run(self):
        try:
            while not self.stopping:
                self.turn()
        except Exception as e:
            self.wrong = e
            raise

    def turn(self):
        try:
            if not self.peer:
                self.connect()
            if self.commands and self.random.random() < 0.05:
                self.command()
            else:
                self.batch()
        except TimeoutError:
            raise
        except (Closed, OSError) as e:
            self.lost(e)
        except WireError as e:
            if not self.cut or "cut after" not in str(e):
                raise
            self.lost(e)

    def lost(self, why):
        if self.peer:
            self.peer.close()
            self.reconnects += 1
        self.peer = None

    def stop(self):
        """End, and look at all there is."""
        self.stopping = True
        self.join(120)
        assert not self.is_alive(), "a client hangs"
        assert not self.wrong, self.wrong
        if self.peer:
            self.peer.close()
        self.connect()
        self.verify(range(self.blocks))
        for name in list(self.copies):
            self.verify_copy(name)
        self.peer.close()

    def gone(self):
        """Whether the server will not come back."""
        return False

    def connect(self, seconds=60):
        until = time.monotonic() + seconds
        while True:
            try:
                peer = Peer.open(self.random.choice(("simple", "structured",
                                                     "extended")),
                                 name=self.disk, uri=self.server.uri,
                                 timeout=60)
                break
            except (Closed, ConnectionError, FileNotFoundError):
                pass
            except WireError as e:
                if "cut after" not in str(e):
                    raise
            if self.gone():
                raise Closed()
            must(time.monotonic() < until, "it does not come back")
            time.sleep(0.002)
        self.peer = peer
        self.settle()
        self.served = time.monotonic()

    # ---------------------------------------------------- what may be there

    def what(self, block):
        """The bytes of a block of which one is sure."""
        found = self.model.get(block, [bytes(BLOCK)])
        assert len(found) == 1
        return found[0]

    def settle(self):
        """After a new connection: what came of that which was not answered."""
        if self.under_way:
            self.settle_command()
        unsure = [b for b, found in self.model.items() if len(found) > 1]
        self.verify(unsure)
        self.verify(self.random.sample(range(self.blocks),
                                       min(64, self.blocks)))
        if self.random.random() < 0.1:
            self.verify(range(self.blocks))

    def verify(self, blocks, peer=None, model=None):
        peer, model = peer or self.peer, self.model if model is None else model
        for b in blocks:
            data = peer.read(b * BLOCK, BLOCK)
            found = model.get(b, [bytes(BLOCK)])
            must(data in found, "%s: block %d: not one of %d contents that it "
                 "may have, but %r..." % (self.disk, b, len(found), data[:64]))
            model[b] = [data]

    # ------------------------------------------------------------- requests

    def content(self, n):
        """n blocks that tell whose they are."""
        self.count += 1
        return b"".join(
            struct.pack("<8sQ", self.disk.encode()[:8], self.count << 16 | i)
            * (BLOCK // 16) for i in range(n))

    def prepare(self, free):
        """A request on blocks that no other of the batch has: its bytes, and
        what each block is after it."""
        r = self.random
        n = min(r.choice((1, 1, 1, 2, 3, 8, 40)), self.blocks)
        first = r.randrange(self.blocks - n + 1)
        blocks = range(first, first + n)
        if not free.issuperset(blocks):
            return None
        free.difference_update(blocks)
        begin, end = first * BLOCK, (first + n) * BLOCK
        kind = r.choice(("write", "write", "part", "part", "trim", "zero"))
        if kind in ("part", "zero") and r.random() < 0.8:
            begin += r.randrange(BLOCK)
            end -= r.randrange(min(BLOCK, end - begin))
        old = b"".join(self.what(b) for b in blocks)
        if kind in ("write", "part"):
            data = self.content(n)[:end - begin]
            request = self.peer.prepare(WRITE, begin, payload=data)
        else:
            data = bytes(end - begin)
            request = self.peer.prepare(
                TRIM if kind == "trim" else WRITE_ZEROES, begin, end - begin,
                r.choice((0, NO_HOLE)) if kind == "zero" else 0)
        at = begin - first * BLOCK
        new = old[:at] + data + old[at + len(data):]
        return request, {b: new[i * BLOCK:(i + 1) * BLOCK]
                         for i, b in enumerate(blocks)}

    def batch(self):
        free, sent, requests = set(range(self.blocks)), {}, []
        for i in range(self.random.randrange(1, self.most + 1)):
            cookie = self.peer.next_cookie
            one = self.prepare(free)
            if not one:
                continue
            requests.append(one[0])
            sent[cookie] = one[1]
            for b, new in one[1].items():
                self.model[b] = [self.what(b), new]
        self.peer.send(b"".join(requests))
        while sent:
            answer = self.peer.answer().check()
            for b, new in sent.pop(answer.cookie).items():
                self.model[b] = [new]
            self.acknowledged += 1

    # ------------------------------------------------------------- commands

    def ask(self, command, **args):
        """The command's result; if it was not answered, settle_command() finds
        out what came of it."""
        self.under_way = (command, args)
        try:
            with Control(self.server.control) as c:
                result = c.ask(command, **args)
        except Failed as e:
            # The server has ended meanwhile.
            must(e.code in ("stopping", "cancelled"), e)
            raise Closed()
        except AssertionError:
            raise Closed()
        self.answered()
        return result

    def answered(self):
        command, args = self.under_way
        self.under_way = None
        if command in ("clone", "snapshot"):
            self.copies[args.get("as") or args["to"]] = {
                b: list(found) for b, found in self.model.items()}
        elif command == "delete":
            del self.copies[args["name"]]
        elif command == "rollback":
            self.model = {b: list(found) for b, found in
                          self.copies[args["snapshot"]].items()}
        self.made += 1

    def settle_command(self):
        command, args = self.under_way
        with Control(self.server.control) as c:
            names = {d["name"] for d in c.ask("list")["disks"]}
        if command == "rollback":
            self.settle_rollback(args["snapshot"])
            return
        name = args.get("as") or args.get("to") or args["name"]
        if (name in names) == (command != "delete"):
            self.answered()
        self.under_way = None

    def settle_rollback(self, snapshot):
        """All of it, or nothing."""
        old, new = self.model, self.copies[snapshot]
        zero = [bytes(BLOCK)]
        for b in range(self.blocks):
            before, after = old.get(b, zero), new.get(b, zero)
            if before != after:
                data = self.peer.read(b * BLOCK, BLOCK)
                must([data] in (before, after), "block %d" % b)
                if [data] == after:
                    self.answered()
                break
        self.under_way = None
        self.verify(range(self.blocks))

    def command(self):
        r = self.random
        if len(self.copies) > 2:
            name = r.choice(sorted(self.copies))
            self.verify_copy(name)
            self.ask("delete", name=name, force=True)
        elif self.copies and r.random() < 0.2:
            snapshots = [n for n in self.copies if ".s" in n]
            if snapshots:
                self.ask("rollback", name=self.disk, force=True,
                         snapshot=r.choice(snapshots))
                # Its connections were closed.
                raise Closed()
        elif r.random() < 0.5:
            self.count += 1
            self.ask("snapshot", name=self.disk,
                     **{"as": "%s.s%d" % (self.disk, self.count)})
        else:
            self.count += 1
            name = "%s.c%d" % (self.disk, self.count)
            self.ask("clone", **{"from": self.disk, "to": name})

    def verify_copy(self, name):
        """What it holds; and a clone is written to, here and there."""
        model = self.copies[name]
        with Peer.open("simple", name=name, uri=self.server.uri,
                       timeout=60) as p:
            self.verify(range(self.blocks), p, model)
            if ".c" in name:
                for b in self.random.sample(range(self.blocks), 4):
                    new = self.content(1)
                    model[b] = [model[b][0], new]
                    p.write(b * BLOCK, new)
                    model[b] = [new]


def work(daemon, count, blocks, seed, **more):
    """So many clients, on the disks d0, d1, ..."""
    clients = [Client(daemon, "d%d" % i, blocks, seed, **more)
               for i in range(count)]
    for c in clients:
        c.start()
    return clients


def fine(clients):
    for c in clients:
        assert not c.wrong, (c.disk, c.wrong)
        assert c.is_alive() or c.stopping, c.disk


def progress(clients, least, seconds=60):
    """Wait until each has had so many more answers."""
    want = [c.acknowledged + least for c in clients]
    until = time.monotonic() + seconds
    while any(c.acknowledged < n for c, n in zip(clients, want)):
        fine(clients)
        if time.monotonic() > until:
            # Where do they stand, and what does the server say of them?
            faulthandler.dump_traceback()
            print(clients[0].server.said()[-2000:])
            with open("/proc/net/tcp") as f:
                port = ":%04X " % clients[0].server.port
                print(*[line for line in f if port in line], sep="")
            with Control(clients[0].server.control) as c:
                print(c.ask("clients"), c.ask("stats"))
            raise AssertionError("no answers come")
        time.sleep(0.002)
