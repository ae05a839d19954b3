#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fixed disks that become larger and smaller while others resize, delete, copy and
# reload the same ones: each command is done or refused with a reason, and at the end
# what is guaranteed is what the disks have.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

conf=$tmp/nbdram.conf
printf '[pool]\nsize = 512M\n[export a]\nsize = 16M\nalloc = fixed\n' >"$conf"
start_nbdramd -c "$conf"
peer "$conf" "$(scaled 100 15)" <<'END' || fail "beside each other"
import threading
conf, rounds = args[0], int(args[1])
errors, refused = [], {}
sizes = [8, 16, 32, 64, 128]

def tried(c, command, **arguments):
    try:
        c.ask(command, **arguments)
    except Failed as failed:
        allowed = ("in-use", "no-space", "not-found", "exists", "config",
                   "usage")
        assert failed.code in allowed, failed
        refused[failed.code] = refused.get(failed.code, 0) + 1

def guarded(f, *arguments):
    try:
        with Control() as c:
            for i in range(rounds):
                f(c, i, *arguments)
    except BaseException as error:
        errors.append(error)

def resize(c, i, name):
    tried(c, "resize", name=name, size="%dM" % random.choice(sizes))

def remake(c, i):
    tried(c, "delete", name="b", force=True)
    tried(c, "create", name="b", keys=["size=8M", "alloc=fixed"])

def copy(c, i):
    name = random.choice("ab")
    tried(c, "snapshot", name=name, **{"as": "s"})
    tried(c, "rollback", name=name, snapshot="s", force=True)
    tried(c, "delete", name="s", force=True)

def reload(c, i):
    with open(conf + ".new", "w") as f:
        f.write("[pool]\nsize = 512M\n[export a]\nsize = %dM\n"
                "alloc = %s\n" % (random.choice(sizes),
                                  random.choice(("thin", "fixed"))))
    os.rename(conf + ".new", conf)
    tried(c, "reload")

def clients(c, i):
    try:
        with Peer.open(name="a") as p:
            p.write(p.size - 4096, bytes(4096))
    except (Closed, Refused, ConnectionResetError, BrokenPipeError):
        pass

threads = [threading.Thread(target=guarded, args=a) for a in (
    (resize, "a"), (resize, "a"), (resize, "b"), (remake,), (copy,),
    (reload,), (clients,))]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(refused)
assert not errors, errors
for name in set(disks()) - {"a"}:
    ask("delete", name=name, force=True)
ask("check")
with open(conf, "w") as f:
    f.write("[pool]\nsize = 512M\n[export a]\nalloc = thin\n")
assert eventually(10, lambda: disks()["a"]["clients"] == 0)
ask("reload")
assert ask("show")["pool"]["guaranteed"] == 0, ask("show")["pool"]
END
stop_nbdramd
