#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 at any moment of clones, snapshots, rollbacks and deletes beside a writer:
# whatever was answered is so afterwards, what was not is so or not, and the pool is
# sound. (At each store of each of them: store/test-store-crash.)
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cat >"$tmp/program.py" <<'END'
import json
round, path = int(args[0]), args[1]
random_ = random.Random(int(os.environ["NBDRAM_TEST_SEED"]) + round)

# What there is, by name: [what the mark at 0 may be, is it a snapshot]; and what
# was on its way.
state, under_way = {"gold": [[0], False]}, None
if os.path.exists(path):
    with open(path) as f:
        state, under_way = json.load(f)

def mark(name):
    with Peer.open("simple", name=name) as p:
        data = p.read(0, 8192)
        # Both copies, the second of which is written later.
        return struct.unpack_from("<Q", data)[0], \
            struct.unpack_from("<Q", data, 4096)[0]

# ------------------------------------------- what the killed one has left
ask("check")
found = disks()
if under_way:
    what, name, other = under_way
    if what in ("clone", "snapshot"):
        if name in found:
            state[name] = [list(state[other][0]), what == "snapshot"]
    elif what == "delete":
        if name not in found:
            del state[name]
    else:
        state[name][0] += state[other][0]
assert set(found) == set(state), (sorted(found), sorted(state), under_way)
for name, (marks, snapshot) in state.items():
    assert found[name]["snapshot"] == snapshot, (name, under_way)
    first, second = mark(name)
    assert first in marks, (name, first, marks, under_way)
    assert second == first or (second, first) in zip(marks, marks[1:]) or \
        second in marks, (name, first, second, marks)
    state[name][0] = [first] if first == second else [first, second]
under_way = None

# ------------------------------------------------------- and on it goes
print("ready", flush=True)
n = round << 32
try:
    while True:
        what = random_.choice(("write", "write", "clone", "snapshot",
                               "rollback", "delete"))
        names = sorted(state)
        writable = [x for x in names if not state[x][1]]
        snapshots = [x for x in names if state[x][1]]
        n += 1
        if what == "write":
            name = random_.choice(writable)
            # Until it is answered either may be there.
            state[name][0].append(n)
            with Peer.open("simple", name=name) as p:
                for at in (0, 4096):
                    p.write(at, struct.pack("<Q", n) * 512)
            state[name][0] = [n]
        elif what == "clone" or what == "snapshot":
            if len(names) > 40:
                continue
            source = random_.choice(writable)
            to = "%s%d" % (what[0], n)
            under_way = [what, to, source]
            ask(what, **({"from": source, "to": to} if what == "clone" else
                         {"name": source, "as": to}))
            state[to] = [list(state[source][0]), what == "snapshot"]
        elif what == "rollback" and snapshots:
            source = random_.choice(snapshots)
            under_way = [what, "gold", source]
            try:
                ask("rollback", name="gold", snapshot=source, force=True)
                state["gold"][0] = list(state[source][0])
            except Failed as failed:
                assert failed.code == "usage", failed
        elif what == "delete" and len(names) > 3:
            name = random_.choice([x for x in names if x != "gold"])
            under_way = [what, name, None]
            ask("delete", name=name, force=True)
            del state[name]
        under_way = None
except Exception:
    # It was killed, and nothing else.
    def dead():
        try:
            with open("/proc/%s/stat" % pid) as f:
                return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True
    if not eventually(5, dead):
        raise
with open(path, "w") as f:
    json.dump([state, under_way], f)
END
new_pool
rounds=$(scaled 200 8)
for ((round = 1; round <= rounds; round++)); do
	start_nbdramd -m 128M -p "$pool" -e gold,size=64M
	: >"$tmp/out"
	peer "$round" "$tmp/state" <"$tmp/program.py" >"$tmp/out" 2>&1 &
	client=$!
	wait_for 30 grep -q . "$tmp/out"
	grep -q ready "$tmp/out" || fail "round $round: $(cat "$tmp/out")"
	# At any moment.
	sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
	kill_nbdramd
	wait "$client" || fail "round $round: $(cat "$tmp/out")"
done
start_nbdramd -m 128M -p "$pool" -e gold,size=64M
"$nbdramctl" -s "$control" check || fail "check"
"$nbdramctl" -s "$control" show
stop_nbdramd
