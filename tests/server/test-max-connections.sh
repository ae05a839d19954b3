#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# max-connections of an export: one more is refused with a text; a place is free
# at once after DISC, a close, an abort, a reset; INFO and LIST and those who are
# refused take none; other exports do not matter. A reload changes it, and goes
# on counting.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

cat >"$conf" <<'END'
[pool]
size = 64M
[export one]
size = 1M
max-connections = 1
[export two]
size = 1M
max-connections = 2
default = yes
END
start_nbdramd --both -c "$conf"
peer "$(scaled 100 10)" <<'END' || fail "max-connections"
rounds = int(args[0])

def full(u, name="one"):
    with Peer(u) as p:
        p.hello()
        try:
            p.go(name)
        except Refused as refusal:
            assert refusal.name == "ERR_POLICY", refusal
            assert "max-connections" in refusal.text, refusal
        else:
            raise Exception("one more was let in")
        # It is still in step.
        p.ask_info(name)
        assert len(p.list()) == 2

for u in uri, tcp_uri:
    for i in range(rounds):
        p = Peer.open(name="one", uri=u)
        if i % 10 == 0:
            full(u)
        # Neither looking nor lingering in the handshake takes a place.
        q = Peer(u)
        q.hello()
        q.ask_info("one")
        # Another export is another matter.
        others = [Peer.open(name=n, uri=u) for n in ("two", "")]
        for o in others:
            o.read(0, 512)
            o.close()
        how = i % 4
        if how == 0:
            p.disc()
            p.closed()
        elif how == 1:
            p.disc()
            p.close()
        elif how == 2:
            p.close()
        else:
            p.reset()
        q.close()

# An option refused keeps nothing; GO by one that was refused before works.
first = Peer.open(name="one")
p = Peer()
p.hello()
refused("ERR_POLICY", p.go, "one")
first.close()
p.go("one")
p.close()
END

# Counting goes on over a reload, also while it is not exported.
peer "$conf" "$pid" "$log" <<'END' || fail "over reloads"
import signal
conf, log = args[0], args[2]
text = open(conf).read()

def reload(new):
    open(conf, "w").write(new)
    seen = open(log).read().count("reload: done")
    os.kill(int(args[1]), signal.SIGHUP)
    eventually(30, lambda: open(log).read().count("reload: done") > seen)

def let_in(name):
    with Peer() as p:
        p.hello()
        try:
            p.go(name)
            return True
        except Refused as refusal:
            assert refusal.name == "ERR_POLICY", refusal
            return False

p = Peer.open(name="one")
reload(text.replace("connections = 1", "connections = 3"))
assert let_in("one")
q = [Peer.open(name="one") for _ in range(2)]
assert not let_in("one")
reload(text)
assert not let_in("one")
q[0].close(), q[1].close()
assert not let_in("one")
reload(text.replace("[export one]", "[export other]"))
reload(text)
p.read(0, 512)
assert not let_in("one")
p.close()
assert let_in("one")
reload(text.replace("max-connections = 1", ""))
many = [Peer.open(name="one") for _ in range(20)]
END
