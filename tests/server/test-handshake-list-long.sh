#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# LIST of more exports than a connection has room for replies: names of all
# lengths, to who reads at once, a little at a time, and late; several LISTs one
# behind the other; while exports come and go. Who asks for many lists and reads
# nothing costs little memory, and keeps nobody else waiting.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

exports=()
for ((i = 0; i < 600; i++)); do
	exports+=(-e "$(printf '%0255d' "$i"),size=1M")
done
for ((i = 0; i < 2400; i++)); do
	exports+=(-e "d$i,size=1M")
done
# nbdinfo lists them all, and asks for each, in one handshake.
start_nbdramd --both -m 64M -o handshake-timeout=120s "${exports[@]}"
cat >"$tmp/program" <<'END'
want = ["%0255d" % i for i in range(600)] + ["d%d" % i for i in range(2400)]
def right(found):
    assert [name for name, text in found] == want, found
    assert all("uuid=" in text for name, text in found)
with Peer().hello() as p:
    for round in range(3):
        right(p.list())
    p.ask_info("d7")
    # Asked for at once with what follows.
    p.send(struct.pack(">QII", OPTION, OPT_LIST, 0) * 3)
    time.sleep(.2)
    for round in range(3):
        found = []
        for data in p.answers(OPT_LIST, REP_SERVER):
            n, = struct.unpack_from(">I", data)
            found.append((data[4:4 + n].decode(), data[4 + n:].decode()))
        right(found)
    p.go("d8")
    p.write(0, b"x")

before = fields(pid, "RssAnon")
deaf = []
for i in range(40):
    p = Peer().hello()
    p.s.settimeout(.5)
    try:
        p.send(struct.pack(">QII", OPTION, OPT_LIST, 0) * 2000)
    except OSError:
        pass
    deaf.append(p)
began = time.monotonic()
with Peer().hello() as p:
    right(p.list())
took = time.monotonic() - began
print("beside the deaf: %.2f s" % took)
assert took < (20 if slow else 4)
grown = (fields(pid, "RssAnon") - before) / len(deaf)
print("%d bytes for each deaf one" % grown)
assert slow or grown < 300 * 1024, grown
for p in deaf:
    p.close()
END
for at in "$uri" "$tcp_uri"; do
	uri=$at peer <"$tmp/program" || fail "at $at"
done
if command -v nbdinfo >/dev/null && command -v jq >/dev/null; then
	[ "$(nbdinfo --list --json "$uri" | jq '.exports | length')" = 3000 ] ||
		fail "nbdinfo --list: not 3000 exports"
fi

# What stays is told once, whatever comes and goes beside it.
peer <<'END' || fail "a list that changes"
import threading
stop = threading.Event()
failed = []
def change():
    try:
        with Control() as c:
            while not stop.is_set():
                for i in range(20):
                    c.ask("create", name="x%d" % i, keys=["size=1M"])
                for i in range(20):
                    c.ask("delete", name="x%d" % i)
    except BaseException as e:
        failed.append(e)
        raise
t = threading.Thread(target=change)
t.start()
try:
    until = time.monotonic() + 3
    while time.monotonic() < until:
        with Peer().hello() as p:
            names = [name for name, text in p.list()
                     if not name.startswith("x")]
            assert len(names) == 3000 and len(set(names)) == 3000, len(names)
finally:
    stop.set()
    t.join()
assert not failed
END
