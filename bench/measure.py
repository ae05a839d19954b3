# SPDX-License-Identifier: BSD-3-Clause
"""What the measurements of this folder have in common: servers side by side,
the load generator, one run at a time on this machine, and medians of ratios.

Programs are looked for in the build's folder bench, which is the current one
unless something else is said."""
import atexit
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"
MIB = 1 << 20
GIB = 1 << 30


def say(*words):
    """To the person who watches; results alone go to standard output."""
    print(*words, file=sys.stderr, flush=True)


def die(why):
    say(f"{os.path.basename(sys.argv[0])}: {why}")
    sys.exit(1)


# ---------------------------------------------------------------- the machine

class Machine:
    """One measurement at a time, TCP with the same congestion control for all,
    and nothing left behind, however it ends. Use by `with`."""

    def __init__(self, transports):
        self.transports = transports
        self.servers = []
        self.congestion = None

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        path = os.environ.get("BENCH_LOCK", "/tmp/bench.lock")
        self.lock = open(path, "a")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"waiting for {path}")
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.tmp = tempfile.mkdtemp(prefix="nbdram-bench-")
        # The peers' disks, in memory as ours are.
        self.shm = tempfile.mkdtemp(prefix="nbdram-bench-", dir="/dev/shm")
        if "tcp" in self.transports:
            self.set_congestion()
        return self

    def set_congestion(self):
        """bbr, say, paces on loopback too: then pacing is measured."""
        before = open(CONGESTION).read().strip()
        if before == "cubic":
            return
        try:
            with open(CONGESTION, "w") as f:
                f.write("cubic")
            self.congestion = before
            # Should all else fail.
            atexit.register(self.restore_congestion)
        except OSError as e:
            say(f"{CONGESTION} stays {before}: {e.strerror}")

    def restore_congestion(self):
        if self.congestion:
            with open(CONGESTION, "w") as f:
                f.write(self.congestion)
            self.congestion = None

    def __exit__(self, *_):
        for server in list(self.servers):
            server.stop()
        self.restore_congestion()
        shutil.rmtree(self.tmp, ignore_errors=True)
        shutil.rmtree(self.shm, ignore_errors=True)
        self.lock.close()

    def describe(self):
        model = next((line.split(":")[1].strip()
                      for line in open("/proc/cpuinfo")
                      if line.startswith("model name")), "")
        load = open("/proc/loadavg").read().split()[:3]
        return (f"{os.cpu_count()} processors ({model}), Linux "
                f"{os.uname().release}, congestion control "
                f"{open(CONGESTION).read().strip()}, load {' '.join(load)}")


# ---------------------------------------------------------------- servers

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """One server with one disk of `size` bytes, on TCP or a Unix socket."""

    KINDS = ("nbdramd", "plugin", "nbdkit", "nbdkit-sparse", "qemu-nbd",
             "nbd-server", "limit")

    def __init__(self, machine, kind, transport, size, programs, cpus=None):
        self.machine, self.kind, self.size = machine, kind, size
        self.folder = tempfile.mkdtemp(dir=machine.tmp)
        self.unix = transport == "unix"
        self.socket = f"{self.folder}/sock"
        self.port = None if self.unix else free_port()
        self.address = (f"unix:{self.socket}" if self.unix
                        else f"127.0.0.1:{self.port}")
        self.export = ""
        self.file = None
        self.pid = None
        self.programs = programs
        argv = getattr(self, "argv_" + kind.replace("-", "_"))()
        if cpus is not None:
            argv = ["taskset", "-c", ",".join(map(str, cpus))] + argv
        self.log = open(f"{self.folder}/log", "wb")
        machine.servers.append(self)
        try:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=self.log,
                stderr=self.log)
        except OSError as e:
            machine.servers.remove(self)
            die(f"cannot start {argv[0]}: {e.strerror}")
        self.argv = argv
        self.wait_until_it_serves()

    # How each is started, and stays in the foreground if it can.

    def argv_nbdramd(self):
        return [self.programs["nbdramd"], "-l", self.address, "-m",
                str(2 * self.size + GIB), str(self.size)]

    def nbdkit(self, *words):
        where = (["-U", self.socket] if self.unix
                 else ["-i", "127.0.0.1", "-p", str(self.port)])
        return ["nbdkit", "-f", *where, *words]

    def argv_plugin(self):
        return self.nbdkit(self.programs["plugin"], str(self.size),
                           f"memory={2 * self.size + GIB}")

    def argv_nbdkit(self):
        """Its memory plugin with the fastest of its allocators."""
        return self.nbdkit("memory", str(self.size), "allocator=malloc")

    def argv_nbdkit_sparse(self):
        return self.nbdkit("memory", str(self.size))

    def make_file(self):
        self.file = f"{self.machine.shm}/{os.path.basename(self.folder)}"
        with open(self.file, "wb") as f:
            f.truncate(self.size)

    def argv_qemu_nbd(self):
        self.make_file()
        where = (["-k", self.socket] if self.unix
                 else ["-b", "127.0.0.1", "-p", str(self.port)])
        return ["qemu-nbd", "-t", "-e", "0", "-f", "raw",
                "--cache=writeback", "--aio=threads", "--discard=unmap",
                *where, self.file]

    def argv_nbd_server(self):
        self.make_file()
        self.export = "disk"
        where = (f"unixsock = {self.socket}\n" if self.unix else
                 f"port = {self.port}\nlistenaddr = 127.0.0.1\n")
        user = "user = root\ngroup = root\n" if os.getuid() == 0 else ""
        with open(f"{self.folder}/conf", "w") as f:
            f.write(f"[generic]\n{where}{user}max_threads = 4\n"
                    f"[disk]\nexportname = {self.file}\n"
                    "trim = true\nflush = true\nfua = true\n"
                    "rotational = false\n")
        return ["nbd-server", "-C", f"{self.folder}/conf",
                "-p", f"{self.folder}/pid"]

    def argv_limit(self):
        return [self.programs["limit"], str(self.size),
                self.address if self.unix else str(self.port)]

    def answers(self):
        family = socket.AF_UNIX if self.unix else socket.AF_INET
        with socket.socket(family) as s:
            try:
                s.connect(self.socket if self.unix
                          else ("127.0.0.1", self.port))
                return True
            except OSError:
                return False

    def wait_until_it_serves(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            # nbd-server knows no foreground.
            ended = self.process.poll() is not None
            if ended and (self.kind != "nbd-server" or
                          self.process.returncode):
                break
            if self.answers() and self.find_pid():
                return
            time.sleep(0.02)
        self.log.flush()
        printed = open(self.log.name, errors="replace").read().strip()
        die(f"{self.kind} does not serve: {' '.join(self.argv)}: "
            f"{printed[-400:]}")

    def find_pid(self):
        self.pid = self.process.pid
        if self.kind == "nbd-server":
            try:
                self.pid = int(open(f"{self.folder}/pid").read())
            except (OSError, ValueError):
                return False
        return True

    def stop(self):
        if self not in self.machine.servers:
            return
        self.machine.servers.remove(self)
        if self.pid and self.pid != self.process.pid:
            self.end_daemon()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is not None:
                break
            self.process.send_signal(number)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                continue
        self.log.close()
        if self.file and os.path.exists(self.file):
            os.unlink(self.file)

    def end_daemon(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            for _ in range(200):
                try:
                    os.kill(self.pid, number)
                except ProcessLookupError:
                    return
                time.sleep(0.02)

    def private_memory(self):
        """Bytes of the process's own, disks not counted."""
        for line in open(f"/proc/{self.pid}/smaps_rollup"):
            if line.startswith("Pss_Anon:"):
                return int(line.split()[1]) * 1024
        return 0

    def cpu_seconds(self):
        """So far, all threads, to the clock tick."""
        words = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self):
        """Wait until it has done what it does by itself after a start."""
        before = -1
        while before != self.cpu_seconds():
            before = self.cpu_seconds()
            time.sleep(0.25)


# ---------------------------------------------------------------- load

class Run:
    """What one run of the load generator told."""

    def __init__(self, line):
        words = line.split()
        self.requests = int(words[0])
        self.seconds = float(words[1])
        self.bytes = int(words[2])
        self.cpu_us = float(words[3]) / 1000  # for a request
        self.cpu_gib = float(words[4])        # seconds for a GiB
        self.client_us = float(words[5]) / 1000
        self.rate = self.requests / self.seconds
        self.mb_s = self.bytes / self.seconds / 1e6


def load_argv(server, options):
    return [server.programs["load"], *options, "-p", str(server.pid), "-e",
            server.export, server.address]


def load(server, *options):
    r = subprocess.run(load_argv(server, options), capture_output=True,
                       text=True, stdin=subprocess.DEVNULL)
    if r.returncode:
        die(f"{server.kind}: {r.stderr.strip()}")
    return Run(r.stdout)


def fill(server, used):
    """Write all that will be used once, so that reads find data."""
    load(server, "-m", "write", "-b", "1M", "-d", "8", "-r", str(used),
         "-t", "0")


# ---------------------------------------------------------------- statistics

def median(values):
    v = sorted(values)
    n = len(v)
    return (v[n // 2] + v[(n - 1) // 2]) / 2


class Ratio:
    """Median of the ratios of pairs, with its 90 % interval by order
    statistics: the narrowest pair of them that leaves out less than 10 %,
    whatever the distribution. Fewer than five pairs have none that narrow; the
    whole range is given then."""

    def __init__(self, ours, theirs):
        v = sorted(a / b for a, b in zip(ours, theirs))
        n = len(v)
        self.median = median(v)
        # Both tails of a fair coin that is thrown n times.
        k, p, tail = 0, 0.5 ** n, 0.5 ** n
        while 2 * tail <= 0.1:
            k += 1
            p = p * (n - k + 1) / k
            tail += p
        k = max(k - 1, 0)
        self.low, self.high = v[k], v[n - 1 - k]

    def __str__(self):
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def print_table(heads, rows):
    """Aligned, and Markdown as well."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [heads] + rows)
              for i in range(len(heads))]

    def line(cells):
        print("| " + " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths))) + " |")

    line(heads)
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in rows:
        line(row)
    print(flush=True)


# ---------------------------------------------------------------- options

def add_options(parser):
    parser.add_argument("--rounds", type=int, default=None, metavar="N",
                        help="so many interleaved rounds (11)")
    parser.add_argument("--secs", type=float, default=None, metavar="S",
                        help="length of one run (1)")
    parser.add_argument("--quick", action="store_true",
                        help="short, for a first look")
    parser.add_argument("--build", default=".", metavar="FOLDER",
                        help="bench folder of the build (the current one)")
    parser.add_argument("--strict", action="store_true",
                        help="exit 1 if a goal is missed")


def parse_options(parser, rounds):
    """What was said, with rounds for --quick."""
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = rounds if options.quick else 11
    if options.secs is None:
        options.secs = 0.3 if options.quick else 1
    return options


def programs(options, **needed):
    """Paths of programs of the build; die() unless all are there."""
    found = {}
    for name, path in needed.items():
        found[name] = os.path.abspath(os.path.join(options.build, path))
        if not os.path.isfile(found[name]):
            die(f"no {found[name]}: build it (make, make -C bench "
                "load socket-limit), or name the build (--build)")
    return found


def in_turn(things, n):
    """Another one begins in each round, and every second goes backwards."""
    k = n // 2 % len(things)
    order = things[k:] + things[:k]
    return order[::-1] if n % 2 else order


