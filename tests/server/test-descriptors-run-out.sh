#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# More clients than descriptors: those who are in are served, the others wait or
# are turned away and get in later; no processor time is burned meanwhile.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for options in '' '-o max-connections=1000'; do
	# shellcheck disable=SC2086
	start_nbdramd --both --with "${BASH:-bash}" -c 'ulimit -n 300; exec "$@"' - \
		-- -m 64M $options 1M
	peer "$options" <<'END' || fail "with '$options'"
def used():
    return sum(int(f) for f in
               open("/proc/%s/stat" % pid).read().rsplit(")")[1].split()[11:13])
first = Peer.open()
peers = []
for i in range(400):
    try:
        p = Peer(tcp_uri if i % 2 else None)
        p.send(struct.pack(">I", 3) + struct.pack(">QII", OPTION, OPT_GO, 6) +
               Peer.info_data("", ()))
        peers.append(p)
    except OSError:
        pass
def first_answer(p):
    p.s.settimeout(.5)
    try:
        p.greeting()
        p.take_info(OPT_GO)
        p.s.settimeout(30)
        return True
    except (Closed, OSError):
        return False
inside = []
for p in peers[:100]:
    if first_answer(p):
        inside.append(p)
print("%d of the first 100 are in" % len(inside))
assert len(inside) == 100
first.write(0, b"first")
before = used()
time.sleep(1)
burned = used() - before
print("%d ticks in a second" % burned)
assert slow or burned < 20
for p in inside:
    p.write(0, b"first")
for p in peers:
    p.close()
def get_in():
    try:
        with Peer(timeout=1) as p:
            p.hello().go().write(0, b"later")
        return True
    except (Closed, OSError):
        return False
assert eventually(10, get_in)
assert first.read(0, 5) == b"later"
END
	stop_nbdramd
done
