# SPDX-License-Identifier: BSD-3-Clause
"""A scripted NBD client, on Python's standard library alone.

It says exactly what it is told, right or wrong, and takes an answer only if
every bit of it is as the protocol asks: WireError otherwise. Used by the shell
tests through server.sh; see Peer.open() for the usual way in, and the methods
below it for everything by hand.
"""
import os
import random
import re
import select
import socket
import ssl
import struct
import time
import urllib.parse

GREETING = 0x4E42444D41474943
OPTION = 0x49484156454F5054
OPTION_REPLY = 0x0003E889045565A9
REQUEST, EXTENDED_REQUEST = 0x25609513, 0x21E41C71
SIMPLE_REPLY, STRUCTURED_REPLY, EXTENDED_REPLY = (
    0x67446698, 0x668E33EF, 0x6E8A278C)

# Handshake flags: of the server; of the client.
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
C_FIXED_NEWSTYLE, C_NO_ZEROES = 1, 2

OPT_EXPORT_NAME, OPT_ABORT, OPT_LIST, OPT_PEEK, OPT_STARTTLS, OPT_INFO, \
    OPT_GO, OPT_STRUCTURED_REPLY, OPT_LIST_META_CONTEXT, \
    OPT_SET_META_CONTEXT, OPT_EXTENDED_HEADERS = range(1, 12)

REP_ACK, REP_SERVER, REP_INFO, REP_META_CONTEXT = range(1, 5)
REP_ERROR = 1 << 31
REP_ERRORS = {
    1: "ERR_UNSUP", 2: "ERR_POLICY", 3: "ERR_INVALID", 4: "ERR_PLATFORM",
    5: "ERR_TLS_REQD", 6: "ERR_UNKNOWN", 7: "ERR_SHUTDOWN",
    8: "ERR_BLOCK_SIZE_REQD", 9: "ERR_TOO_BIG", 10: "ERR_EXT_HEADER_REQD"}

INFO_EXPORT, INFO_NAME, INFO_DESCRIPTION, INFO_BLOCK_SIZE = range(4)

F_HAS_FLAGS, F_READ_ONLY, F_FLUSH, F_FUA, F_ROTATIONAL, F_TRIM, \
    F_WRITE_ZEROES, F_DF, F_MULTI_CONN, F_RESIZE, F_CACHE, F_FAST_ZERO, \
    F_STATUS_PAYLOAD = (1 << i for i in range(13))

READ, WRITE, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS, RESIZE = \
    range(9)
FUA, NO_HOLE, DF, REQ_ONE, FAST_ZERO, PAYLOAD_LEN = (1 << i for i in range(6))

CHUNK_NONE, CHUNK_DATA, CHUNK_HOLE, CHUNK_STATUS, CHUNK_STATUS_EXT = (
    0, 1, 2, 5, 6)
CHUNK_ERROR, CHUNK_ERROR_OFFSET = 0x8001, 0x8002

ERRORS = {1: "EPERM", 5: "EIO", 12: "ENOMEM", 22: "EINVAL", 28: "ENOSPC",
          75: "EOVERFLOW", 95: "ENOTSUP", 108: "ESHUTDOWN"}

KINDS = ("simple", "structured", "extended")
MIB = 1 << 20


class WireError(Exception):
    """The server said something that the protocol does not allow."""


class Closed(Exception):
    """The server closed the connection where an answer might have begun."""


class Refused(Exception):
    """The server's answer is an error; name is "EINVAL" or "ERR_UNKNOWN"."""

    def __init__(self, name, text=""):
        Exception.__init__(self, "%s: %s" % (name, text))
        self.name = name
        self.text = text


def must(what, *text):
    if not what:
        raise WireError(" ".join(str(t) for t in text))


def address(uri):
    """(family, address) of an NBD URI."""
    u = urllib.parse.urlsplit(uri)
    if u.scheme == "nbd+unix":
        return socket.AF_UNIX, urllib.parse.parse_qs(u.query)["socket"][0]
    family = socket.AF_INET6 if ":" in u.hostname else socket.AF_INET
    return family, (u.hostname, u.port or 10809)


def string(text):
    """A string with its length before it."""
    text = text.encode() if isinstance(text, str) else text
    return struct.pack(">I", len(text)) + text


class Request:
    def __init__(self, command, offset, length, flags, cookie):
        self.command = command
        self.offset = offset
        self.length = length
        self.flags = flags
        self.cookie = cookie
        self.data = None        # READ: bytearray once something has come
        self.covered = []       # READ: [begin, end) of chunks
        self.extents = {}       # BLOCK_STATUS: context id -> [(len, flags)]
        self.chunks = []        # types, in order
        self.error = 0
        self.text = ""

    def name(self):
        return ERRORS.get(self.error)

    def check(self):
        """Raises Refused if the answer is an error."""
        if self.error:
            raise Refused(self.name(), self.text)
        return self


class Peer:
    def __init__(self, uri=None, timeout=30, rcvbuf=0):
        family, where = address(uri or os.environ["NBD_URI"])
        self.s = socket.socket(family, socket.SOCK_STREAM)
        self.s.settimeout(timeout)
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.connect(where)
        if family != socket.AF_UNIX:
            if self.s.getsockname() == self.s.getpeername():
                # Nobody listens, and by chance we had that port ourselves.
                self.s.close()
                raise ConnectionRefusedError("connected to itself")
            self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = b""
        self.kind = "simple"
        self.pending = {}       # cookie -> [Request], oldest first
        self.next_cookie = random.getrandbits(32) << 32
        self.size = self.flags = None
        self.block = None       # (minimum, preferred, maximum)
        self.info = {}
        self.contexts = {}      # name -> id

    # ------------------------------------------------------------- bytes

    def send(self, data):
        self.s.sendall(data)

    def recv(self, n):
        """Exactly n bytes. Closed: the end came, and before the first."""
        parts, left = [], n
        if self.buf:
            parts, left = [self.buf[:n]], n - len(self.buf[:n])
            self.buf = self.buf[n:]
        while left:
            part = self.s.recv(min(left, MIB) if left > 4096 else 65536)
            if not part:
                if left == n:
                    raise Closed()
                raise WireError("cut after %d of %d bytes" % (n - left, n))
            if len(part) > left:
                self.buf = part[left:]
                part = part[:left]
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def unpack(self, form):
        form = ">" + form
        return struct.unpack(form, self.recv(struct.calcsize(form)))

    def closed(self):
        """True if the server ends the connection now (a reset is fine)."""
        try:
            rest = self.buf + self.s.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            return True
        must(not rest, "bytes instead of the end:", rest[:64])
        return True

    def close(self):
        self.s.close()

    def reset(self):
        """Close in a way that the other side sees as a reset (TCP)."""
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          struct.pack("ii", 1, 0))
        self.s.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    # --------------------------------------------------------- handshake

    def greeting(self):
        magic, option, flags = self.unpack("QQH")
        must(magic == GREETING, "greeting %#x" % magic)
        must(option == OPTION, "greeting's second half %#x" % option)
        must(flags == FIXED_NEWSTYLE | NO_ZEROES, "handshake flags", flags)
        return flags

    def hello(self, flags=C_FIXED_NEWSTYLE | C_NO_ZEROES):
        self.greeting()
        self.no_zeroes = bool(flags & C_NO_ZEROES)
        self.send(struct.pack(">I", flags))
        if os.environ.get("NBD_TLS"):
            self.starttls(os.environ["NBD_TLS"])
        return self

    def starttls(self, folder, **versions):
        """STARTTLS, and TLS with the client's files in the folder."""
        self.ask(OPT_STARTTLS)
        self.tls(folder, **versions)

    def tls(self, folder, version=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(folder + "/ca-cert.pem")
        if os.path.exists(folder + "/client-cert.pem"):
            context.load_cert_chain(folder + "/client-cert.pem",
                                    folder + "/client-key.pem")
        if version:
            context.minimum_version = context.maximum_version = version
        must(not self.buf, "clear bytes behind the answer to STARTTLS")
        self.s = context.wrap_socket(self.s, suppress_ragged_eofs=False)
        # In step with a TLS 1.3 server that refuses our certificate.
        return self

    def option(self, number, data=b"", length=None, magic=OPTION):
        """Send an option; a length of one's own may be a lie."""
        self.send(struct.pack(">QII", magic, number, len(data)
                              if length is None else length) + data)

    def reply(self, number):
        """One answer to the option: (type, data)."""
        magic, option, kind, length = self.unpack("QIII")
        must(magic == OPTION_REPLY, "option reply's magic %#x" % magic)
        must(option == number, "answer to option %d, not %d"
             % (option, number))
        must(length <= 65536, "an answer of %d bytes" % length)
        data = self.recv(length) if length else b""
        if kind & REP_ERROR:
            must(kind - REP_ERROR in REP_ERRORS, "error %#x" % kind)
            data.decode()
            must(b"\0" not in data, "a zero in a message")
        else:
            must(kind in (REP_ACK, REP_SERVER, REP_INFO, REP_META_CONTEXT),
                 "reply type", kind)
            must(kind != REP_ACK or not data, "an ACK with data")
        return kind, data

    def answers(self, number, kind):
        """All answers before ACK, which are all of that kind. Refused: an
        error came."""
        result = []
        while True:
            got, data = self.reply(number)
            if got & REP_ERROR:
                raise Refused(REP_ERRORS[got - REP_ERROR], data.decode())
            if got == REP_ACK:
                return result
            must(got == kind, "answer %d to option %d" % (got, number))
            result.append(data)

    def ask(self, number, data=b"", kind=None):
        self.option(number, data)
        return self.answers(number, kind)

    def structured(self):
        self.ask(OPT_STRUCTURED_REPLY)
        self.kind = "structured"

    def extended(self):
        self.ask(OPT_EXTENDED_HEADERS)
        self.kind = "extended"

    def negotiate(self, kind):
        if kind != "simple":
            getattr(self, kind)()
        return self

    def list(self):
        """[(name, description)] of all exports."""
        result = []
        for data in self.ask(OPT_LIST, b"", REP_SERVER):
            must(len(data) >= 4, "a short entry")
            n, = struct.unpack_from(">I", data)
            must(n <= len(data) - 4, "a name longer than its entry")
            result.append((data[4:4 + n].decode(), data[4 + n:].decode()))
        return result

    def abort(self):
        self.ask(OPT_ABORT)
        return self.closed()

    def meta(self, *queries, name="", option=OPT_SET_META_CONTEXT):
        """Names and ids of the contexts that the server has for it."""
        data = string(name) + struct.pack(">I", len(queries)) + \
            b"".join(string(q) for q in queries)
        found = {}
        for answer in self.ask(option, data, REP_META_CONTEXT):
            must(len(answer) > 4, "a context without a name")
            context = answer[4:].decode()
            must(context not in found, "twice", context)
            found[context], = struct.unpack_from(">I", answer)
        if option == OPT_SET_META_CONTEXT:
            must(len(set(found.values())) == len(found), "ids", found)
            self.contexts = found
        return found

    @staticmethod
    def info_data(name, infos):
        return string(name) + struct.pack(">H", len(infos)) + \
            b"".join(struct.pack(">H", i) for i in infos)

    def _export(self, size, flags):
        must(flags & F_HAS_FLAGS, "transmission flags %#x" % flags)
        must(flags < 1 << 13, "transmission flags %#x" % flags)
        must(not flags & F_DF or self.kind != "simple", "DF is offered")
        self.size, self.flags = size, flags

    def take_info(self, number):
        """The answers to INFO or GO, into size, flags, block and info."""
        self.info = {}
        for data in self.answers(number, REP_INFO):
            must(len(data) >= 2, "a short INFO")
            what, = struct.unpack_from(">H", data)
            must(what not in self.info, "INFO %d twice" % what)
            self.info[what] = data = data[2:]
            if what == INFO_EXPORT:
                must(len(data) == 10, "INFO_EXPORT")
                self._export(*struct.unpack(">QH", data))
            elif what == INFO_BLOCK_SIZE:
                must(len(data) == 12, "INFO_BLOCK_SIZE")
                self.block = low, preferred, most = struct.unpack(">III", data)
                must(low and low & low - 1 == 0 and low <= 65536, self.block)
                must(preferred & preferred - 1 == 0, self.block)
                must(preferred >= max(low, 512), self.block)
                must(most == 2**32 - 1 or most % low == 0, self.block)
            else:
                must(what in (INFO_NAME, INFO_DESCRIPTION), "INFO", what)
                data.decode()
        must(INFO_EXPORT in self.info, "no INFO_EXPORT")
        return self

    def go(self, name="", infos=(INFO_BLOCK_SIZE,), option=OPT_GO):
        self.option(option, self.info_data(name, infos))
        return self.take_info(option)

    def ask_info(self, name="", infos=(INFO_BLOCK_SIZE,)):
        return self.go(name, infos, OPT_INFO)

    def export_name(self, name=""):
        self.option(OPT_EXPORT_NAME,
                    name.encode() if isinstance(name, str) else name)
        self._export(*self.unpack("QH"))
        if not self.no_zeroes:
            must(self.recv(124) == bytes(124), "no 124 zeroes")
        return self

    @classmethod
    def open(cls, kind="structured", name="", contexts=("base:allocation",),
             **more):
        """Ready for requests, by GO."""
        p = cls(**more).hello().negotiate(kind)
        if kind != "simple" and contexts:
            p.meta(*contexts, name=name)
        return p.go(name)

    # ---------------------------------------------------------- requests

    def header(self, command, offset=0, length=0, flags=0, cookie=0,
               magic=None):
        if self.kind == "extended":
            return struct.pack(">IHHQQQ", magic or EXTENDED_REQUEST, flags,
                               command, cookie, offset, length)
        return struct.pack(">IHHQQI", magic or REQUEST, flags, command,
                           cookie, offset, length)

    def prepare(self, command, offset=0, length=0, flags=0, payload=b"",
                cookie=None):
        """The request's bytes; its answer is expected from now on."""
        return self.expect(command, offset, length, flags, payload,
                           cookie) + payload

    def expect(self, command, offset=0, length=0, flags=0, payload=b"",
               cookie=None):
        """The same without the payload."""
        if cookie is None:
            cookie = self.next_cookie
            self.next_cookie = self.next_cookie + 1 & 2**64 - 1
        if command == WRITE:
            length = length or len(payload)
            if self.kind == "extended":
                flags |= PAYLOAD_LEN
        request = Request(command, offset, length, flags, cookie)
        self.pending.setdefault(cookie, []).append(request)
        return self.header(command, offset, length, flags, cookie)

    def request(self, command, offset=0, length=0, flags=0, payload=b"",
                **more):
        header = self.expect(command, offset, length, flags, payload, **more)
        if len(payload) <= 65536:
            self.send(header + payload)
            return
        # No copy of what is long: other threads here would stand still.
        self.send(header)
        self.send(payload)

    def disc(self):
        self.send(self.header(DISC))

    def in_flight(self):
        return sum(len(list) for list in self.pending.values())

    def _find(self, cookie, offset=None):
        """The request that is answered: with equal cookies the one of that
        offset, else the oldest."""
        must(cookie in self.pending, "an answer to nobody: cookie %#x"
             % cookie)
        for request in self.pending[cookie]:
            if offset is None or request.offset == offset:
                return request
        raise WireError("an answer of offset %#x" % offset)

    def _done(self, request):
        list = self.pending[request.cookie]
        list.remove(request)
        if not list:
            del self.pending[request.cookie]
        return request

    def answer(self):
        """The next request whose answer is complete."""
        while True:
            magic, = self.unpack("I")
            if magic == SIMPLE_REPLY:
                return self._simple()
            must(magic == {"simple": None, "structured": STRUCTURED_REPLY,
                           "extended": EXTENDED_REPLY}[self.kind],
                 "reply's magic %#x in %s" % (magic, self.kind))
            request = self._chunk()
            if request:
                return request

    def _simple(self):
        error, cookie = self.unpack("IQ")
        request = self._find(cookie)
        must(self.kind != "extended", "a simple reply")
        must(self.kind == "simple" or
             request.command not in (READ, BLOCK_STATUS),
             "a simple reply to command", request.command)
        must(not request.chunks, "a simple reply after chunks")
        must(error == 0 or error in ERRORS, "error", error)
        request.error = error
        if request.command == READ and not error:
            request.data = self.recv(request.length)
        return self._done(request)

    def _chunk(self):
        if self.kind == "extended":
            flags, type, cookie, offset, length = self.unpack("HHQQQ")
            request = self._find(cookie, offset)
            must(request.offset == offset, "offset %#x" % offset)
        else:
            flags, type, cookie, length = self.unpack("HHQI")
            at = None
            if len(self.pending.get(cookie, ())) > 1 and \
               type in (CHUNK_DATA, CHUNK_HOLE):
                # Which of them, only the chunk's own offset can tell.
                at, = struct.unpack(">Q", self.recv(8))
                self.buf = struct.pack(">Q", at) + self.buf
                for one in self.pending[cookie]:
                    if one.offset <= at < one.offset + one.length:
                        at = one.offset
                        break
            request = self._find(cookie, at)
        must(flags in (0, 1), "chunk flags", flags)
        must(length <= 65 * MIB, "a chunk of", length)
        data = self.recv(length) if length else b""
        request.chunks.append(type)
        if type == CHUNK_NONE:
            must(flags == 1 and not length, "chunk NONE")
        elif type == CHUNK_DATA:
            must(request.command == READ and length > 8, "chunk DATA")
            self._cover(request, struct.unpack_from(">Q", data)[0], data[8:])
        elif type == CHUNK_HOLE:
            must(request.command == READ and length == 12, "chunk HOLE")
            must(not request.flags & DF, "a HOLE under DF")
            at, n = struct.unpack(">QI", data)
            must(n, "an empty hole")
            self._cover(request, at, bytes(n))
        elif type in (CHUNK_STATUS, CHUNK_STATUS_EXT):
            self._status(request, type, data)
        elif type in (CHUNK_ERROR, CHUNK_ERROR_OFFSET):
            self._error(request, type, data)
        else:
            raise WireError("chunk type %#x" % type)
        if not flags:
            return None
        if request.error == 0 and request.command == READ:
            must(sum(e - b for b, e in request.covered) == request.length,
                 "bytes are missing")
            must(not request.flags & DF or
                 len([c for c in request.chunks if c]) == 1, "DF in pieces")
        if request.error == 0 and request.command == BLOCK_STATUS:
            must(request.extents, "no extents")
        return self._done(request)

    def _cover(self, request, at, data):
        begin, end = at - request.offset, at - request.offset + len(data)
        must(begin >= 0 and end <= request.length, "a chunk outside")
        for b, e in request.covered:
            must(end <= b or begin >= e, "chunks overlap")
        request.covered.append((begin, end))
        if len(data) == request.length:
            request.data = data
            return
        if request.data is None:
            request.data = bytearray(request.length)
        request.data[begin:end] = data

    def _status(self, request, type, data):
        must(request.command == BLOCK_STATUS, "chunk STATUS")
        if self.kind == "extended":
            must(type == CHUNK_STATUS_EXT and len(data) % 16 == 8, "STATUS")
            context, count = struct.unpack_from(">II", data)
            must(count == len(data) // 16, "count of extents")
            pairs = list(struct.iter_unpack(">QQ", data[8:]))
        else:
            must(type == CHUNK_STATUS and len(data) % 8 == 4, "STATUS")
            context, = struct.unpack_from(">I", data)
            pairs = list(struct.iter_unpack(">II", data[4:]))
        must(context in self.contexts.values(), "context", context)
        must(context not in request.extents, "a context twice")
        must(pairs and all(n for n, f in pairs), "empty extents")
        wide = request.length if self.kind != "extended" or \
            not request.flags & PAYLOAD_LEN else None
        if wide is not None:
            must(sum(n for n, f in pairs[:-1]) < wide, "extents beyond")
            if request.flags & REQ_ONE:
                must(len(pairs) == 1 and pairs[0][0] <= wide, "REQ_ONE")
        most = max(n for n, f in pairs)
        for (n, f), (n2, f2) in zip(pairs, pairs[1:]):
            must(f != f2 or n + n2 > most, "neighbours of one kind")
        request.extents[context] = pairs

    def _error(self, request, type, data):
        more = 8 if type == CHUNK_ERROR_OFFSET else 0
        must(len(data) >= 6 + more, "a short ERROR")
        error, n = struct.unpack_from(">IH", data)
        must(len(data) == 6 + n + more, "an ERROR's lengths")
        must(error in ERRORS, "error", error)
        text = data[6:6 + n].decode()
        must("\0" not in text, "a zero in a message")
        if more:
            at, = struct.unpack(">Q", data[-8:])
            must(request.offset <= at < request.offset + request.length,
                 "an error at", at)
        request.error, request.text = error, text

    # ---------------------------------------------- one after the other

    def do(self, command, offset=0, length=0, flags=0, payload=b"", **more):
        """Send one request and take its answer. Refused: an error."""
        self.request(command, offset, length, flags, payload, **more)
        return self.answer().check()

    def read(self, offset, length, flags=0):
        return bytes(self.do(READ, offset, length, flags).data)

    def write(self, offset, data, flags=0):
        self.do(WRITE, offset, len(data), flags, data)

    def trim(self, offset, length, flags=0):
        self.do(TRIM, offset, length, flags)

    def zero(self, offset, length, flags=0):
        self.do(WRITE_ZEROES, offset, length, flags)

    def flush(self, flags=0):
        self.do(FLUSH, 0, 0, flags)

    def status(self, offset, length, flags=0, context="base:allocation"):
        """[(length, flags)] of one context."""
        return self.do(BLOCK_STATUS, offset, length, flags).extents[
            self.contexts[context]]

    def drain(self):
        """All answers that are due; [Request]."""
        result = []
        while self.pending:
            result.append(self.answer())
        return result

    def write_all(self, pieces):
        """Write [(offset, data)], some at a time, and none may fail."""
        for i in range(0, len(pieces), 32):
            self.send(b"".join(self.prepare(WRITE, off, payload=data)
                               for off, data in pieces[i:i + 32]))
            for q in self.drain():
                q.check()


def refused(name, call, /, *arguments, **more):
    """The call must end in this error (a name, or several)."""
    names = (name,) if isinstance(name, str) else name
    try:
        call(*arguments, **more)
    except Refused as e:
        must(e.name in names, "%s, not %s" % (e, name))
        return e
    raise WireError("it succeeded, %s was expected" % name)


def pattern(seed, n):
    """n bytes that tell where they are from."""
    return random.Random(seed).randbytes(n)


def fields(pid, *names):
    """Numbers of /proc/PID/status; of memory, in bytes."""
    with open("/proc/%s/status" % pid) as f:
        text = f.read()
    result = []
    for name in names:
        n, unit = re.search(r"^%s:\s+(\d+)( kB)?" % name, text, re.M).groups()
        result.append(int(n) * (1024 if unit else 1))
    return result[0] if len(names) == 1 else result


def descriptors(pid):
    return len(os.listdir("/proc/%s/fd" % pid))


def eventually(seconds, condition):
    """Wait until it is true; False when that takes too long."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
