# SPDX-License-Identifier: BSD-3-Clause
"""The control socket of nbdramd by hand, and nbdramctl; for programs of peer()."""
import json
import os
import socket
import subprocess


class Failed(Exception):
    """A command was refused: code, and the line for people."""

    def __init__(self, code, text):
        super().__init__("%s: %s" % (code, text))
        self.code, self.text = code, text


class Control:
    def __init__(self, path=None, timeout=60):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(timeout)
        self.s.connect(path or os.environ["NBDRAM_CONTROL"])
        self.buf = b""
        self.progress = []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.s.close()

    def send(self, data):
        self.s.sendall(data)

    def request(self, command, **args):
        self.send(json.dumps({"command": command, "args": args}).encode()
                  + b"\n")

    def line(self):
        """The next line; None: the connection was closed."""
        while b"\n" not in self.buf:
            try:
                data = self.s.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                assert not self.buf, self.buf
                return None
            self.buf += data
        line, self.buf = self.buf.split(b"\n", 1)
        return json.loads(line)

    def answer(self):
        """The next result; what progress there was is kept."""
        while True:
            line = self.line()
            assert line is not None, "no answer"
            if "progress" not in line:
                break
            self.progress.append(line["progress"])
        if line["ok"]:
            assert set(line) == {"ok", "result"}, line
            return line["result"]
        assert set(line) == {"ok", "error", "code"}, line
        assert "\n" not in line["error"]
        raise Failed(line["code"], line["error"])

    def ask(self, command, **args):
        self.request(command, **args)
        return self.answer()


def ask(command, **args):
    """One command on a connection of its own."""
    with Control() as c:
        return c.ask(command, **args)


def fails(code, command, **args):
    """The command must be refused with this code; its line comes back."""
    try:
        result = ask(command, **args)
    except Failed as failed:
        assert failed.code == code, failed
        return failed.text
    raise AssertionError("%s was done: %r" % (command, result))


def disks():
    return {d["name"]: d for d in ask("list")["disks"]}


def ctl(*arguments, status=0, **more):
    """nbdramctl with these arguments; what it printed."""
    run = subprocess.run(
        [os.environ["NBDRAMCTL"], "-s", os.environ["NBDRAM_CONTROL"],
         *arguments], capture_output=True, text=True, timeout=120, **more)
    assert run.returncode == status, (arguments, run)
    if status:
        assert run.stderr.count("\n") == 1, run.stderr
        assert run.stderr.startswith("nbdramctl: "), run.stderr
        return run.stderr
    assert not run.stderr, run.stderr
    return run.stdout
