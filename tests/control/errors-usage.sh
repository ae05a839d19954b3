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
# Of another kind than they are taken for.
for command, arguments in (
        ("create", {"name": "z", "keys": "size=1M"}),
        ("clone", {"from": "a", "to": "z", "keys": "allow=uid:5"}),
        ("clone", {"from": "a", "to": "z", "keys": {"allow": "uid:5"}}),
        ("clone", {"from": "a", "to": "z", "keys": ["quota=1M", 5]}),
        ("clone", {"from": "a", "to": 5}), ("snapshot", {"name": ["a"]}),
        ("snapshot", {"name": "a", "as": None}),
        ("delete", {"name": "a", "force": "yes"}),
        ("show", {"name": "a", "config": "yes"})):
    fails("usage", command, **arguments)
assert set(disks()) == {"a"}
# Requests before a wrong one are answered.
c = Control()
c.send(b'{"command":"list"}\n{"command":"create","args":{"name":"b","keys":'
       b'["size=1M"]}}\n{"command":"stats"}\nbad\n{"command":"list"}\n')
for i in range(3):
    line = c.line()
    while "progress" in line:
        line = c.line()
    assert line["ok"], line
assert c.line()["code"] == "protocol"
assert c.s.recv(1) == b""
assert set(disks()) == {"a", "b"}
END
stop_nbdramd
