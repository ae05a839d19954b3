#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Commands and reloads at the same time do not get into each other's way: what was
# made by command stays, what the configuration says is served, nothing is left.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

conf=$tmp/nbdram.conf
printf '[pool]\nsize = 64M\n[export a]\nsize = 1M\n' >"$conf"
start_nbdramd -c "$conf"
peer "$conf" "$(scaled 200 30)" <<'END' || fail "commands beside reloads"
import threading
conf, rounds = args[0], int(args[1])
errors = []
def guarded(f, *arguments):
    try:
        f(*arguments)
    except BaseException as error:
        errors.append(error)
def commands(n):
    with Control() as c:
        for i in range(rounds):
            name = "made-%d-%d" % (n, i)
            c.ask("create", name=name, keys=["size=1M"])
            assert Peer.open(name=name).size == MIB
            c.ask("snapshot", name=name, **{"as": name + "s"})
            c.ask("rollback", name=name, snapshot=name + "s", force=True)
            c.ask("delete", name=name, force=True)
            c.ask("delete", name=name + "s", force=True)
def reloads():
    with Control() as c:
        for i in range(rounds):
            with open(conf + ".new", "w") as f:
                f.write("[pool]\nsize = 64M\n[export a]\nsize = 1M\n")
                if i % 3:
                    f.write("[export b]\nsize = 1M\n")
                if i % 5 == 4:
                    f.write("[exprot c]\n")
            os.rename(conf + ".new", conf)
            try:
                c.ask("reload")
                assert i % 5 != 4
            except Failed as failed:
                assert i % 5 == 4 and failed.code == "config", failed
            os.kill(int(pid), 1)
threads = [threading.Thread(target=guarded, args=a)
           for a in ((commands, 1), (commands, 2), (reloads,))]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not errors, errors
left = disks()
assert set(left) == {"a", "b"} and left["a"]["exported"], left
ask("check")
END
stop_nbdramd
