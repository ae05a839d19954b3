#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Arguments that only the daemon can judge: exit status 2 as for those that nbdramctl
# judges itself; 1 for what could have been done.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd -m 64M -e a,size=1M
peer <<'END' || fail "exit status"
for words in (
        ["create", "d", "size=foo"], ["create", "d", "siz=8M"],
        ["create", "d"], ["create", "", "size=1M"],
        ["create", "d", "size=8M", "size=9M"],
        ["create", "d", "size=8M", "foo"],
        ["create", "d", "size=8M", "quota=1M", "guarantee=2M"],
        ["resize", "a", "foo"], ["disconnect", "foo"],
        ["clone", "a", "b", "size=1M"],
        ["clone", "a", "b", "quota=1M", "quota=2M"],
        ["rollback", "a", "a"], ["snapshot", "a", "s", "size=1M"]):
    print(ctl(*words, status=2), end="")
    print(ctl("--json", *words, status=2), end="")
for words in ["create", "a", "size=1M"], ["delete", "b"], ["disconnect", "9999"]:
    ctl(*words, status=1)
assert set(disks()) == {"a"}
END
stop_nbdramd
