#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What was made by command is there again after a restart, exported as it was; also
# after kill -9. A section in the configuration takes it over.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
start_nbdramd -m 64M -p "$pool" -e a,size=1M -e kept,size=1M
ctl create made size=2M readonly=yes max-connections=1 || fail create
ctl clone a copy || fail clone
ctl snapshot a snap || fail snapshot
ctl create gone size=1M && ctl delete gone || fail delete
kill_nbdramd

start_nbdramd -m 64M -p "$pool" -e kept
peer <<'END' || fail "after a restart"
d = disks()
assert set(d) == {"a", "kept", "made", "copy", "snap"}, d
assert d["a"]["state"] == "not exported"
assert d["made"]["readonly"] and d["made"]["size"] == 2 * MIB
assert d["copy"]["exported"] and d["snap"]["state"] == "snapshot"
assert ask("show", name="made")["disk"]["max-connections"] == 1
assert ask("show", name="made")["disk"]["made"] == "command"
# Not in the configuration any more: it may go.
ctl("delete", "a")
END
stop_nbdramd

start_nbdramd -m 64M -p "$pool" -e made
peer <<'END' || fail "taken over"
d = ask("show", name="made")["disk"]
assert d["made"] == "configuration" and not d["readonly"], d
fails("configured", "delete", name="made")
END
stop_nbdramd
