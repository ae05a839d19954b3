#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# reload by command: what has changed is told; a file that is wrong changes nothing.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

conf=$tmp/nbdram.conf
control=$tmp/the-control
write()
{
	printf '[server]\nlisten = unix:%s\ncontrol = %s\n[pool]\nsize = 64M\n' \
		"$tmp/other" "$control" >"$conf"
	printf '%s\n' "$@" >>"$conf"
}
write '[export a]' 'size = 1M'
start_nbdramd --file -c "$conf"
[ "$(ctl reload)" = 'nothing has changed' ] || fail "what has changed?"
write '[export a]' 'size = 2M' '[export b]' 'size = 1M'
ctl reload >"$tmp/out" || fail reload
cat "$tmp/out"
grep -q 'export b' "$tmp/out" || fail "nothing is said of b"
ctl list | grep -q '^b ' || fail "no b"
write '[export a]' 'size = x' '[exprot c]'
ctl reload 2>"$tmp/err" && fail "a file that is wrong was taken"
cat "$tmp/err"
[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line"
grep -q 'nothing was changed: .*nbdram.conf:7: .*nbdram.conf:8: ' "$tmp/err" ||
	fail "not every mistake is named"
# Out of the configuration: kept, and may be deleted now.
ctl delete b 2>"$tmp/err" && fail "b was deleted"
write '[export a]' 'size = 2M'
ctl reload >"$tmp/out" || fail reload
ctl list | grep -q '^b .* not exported$' || fail "b is exported"
ctl delete b || fail "b cannot be deleted"
stop_nbdramd
