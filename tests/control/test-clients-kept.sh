#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A disk that is not exported any more while clients have it open: list and show
# count them.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cat >"$tmp/conf" <<END
[export a]
size = 1M
[export b]
size = 1M
END
start_nbdramd -c "$tmp/conf"
peer "$tmp/conf" <<'END' || fail "clients of what is not exported"
p = Peer.open(name="a")
q = Peer.open(name="a")
with open(args[0], "w") as f:
    f.write("[export b]\nsize = 1M\n")
ask("reload")
d = disks()["a"]
assert not d["exported"] and d["clients"] == 2, d
d = ask("show", name="a")["disk"]
assert d["clients"] == 2 and d["writers"] == 2, d
assert disks()["b"]["clients"] == 0
p.disc()
q.disc()
assert eventually(10, lambda: disks()["a"]["clients"] == 0)
END
stop_nbdramd
