#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Another user is told in one line that this is not for him, even if the file would
# let him in; usually it does not.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

requires_root
requires_command setpriv
start_nbdramd -m 64M -e a,size=1M
[ "$(stat -c %a "$control")" = 600 ] || fail "mode $(stat -c %a "$control")"
chmod 755 "$tmp"

# The program must be within reach of that user.
cp "$nbdramctl" "$tmp/ctl" 2>/dev/null && chmod 755 "$tmp/ctl"
other()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		env ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
		"$tmp/ctl" -s "$control" list >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] || fail "exit status"
	cat "$tmp/err"
	[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ] ||
		fail "not one line on standard error"
}
setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/ctl" --version ||
	skip "the other user cannot run it"
other
grep -q 'Permission denied; only root' "$tmp/err" || fail "not refused"
chmod 666 "$control"
other
grep -q 'only root and the user' "$tmp/err" || fail "not refused"
ctl list || fail "root is refused"
stop_nbdramd
