#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A control socket that cannot be had is an error if it was asked for. One that is
# left over is replaced, one that lives is not taken, what is no socket is left
# alone; the folder is made if only that is missing.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

echo precious >"$tmp/file"
wrong 1 'something else than a socket' -l "unix:$tmp/x" -s "$tmp/file" 1M
[ "$(cat "$tmp/file")" = precious ] || fail "the file has changed"
wrong 1 'something else than a socket' -l "unix:$tmp/x" -s "$tmp" 1M
wrong 1 'control socket: .*No such file' -l "unix:$tmp/x" -s "$tmp/no/no/x" 1M
[ ! -e "$tmp/no" ] || fail "more than one folder was made"

start_nbdramd -s "$tmp/folder/control" 1M
control=$tmp/folder/control
[ "$(stat -c %a "$tmp/folder")" = 755 ] || fail "mode of the folder"
ctl list >"$tmp/out" || fail "list"
wrong 1 'another program listens there' -l "unix:$tmp/x" -s "$control" 1M
ctl list >"$tmp/out" || fail "it was taken"
kill_nbdramd
[ -S "$control" ] || fail "no socket is left over"
"$nbdramctl" -s "$control" list 2>"$tmp/err" && fail "who answers?"
grep -q 'is nbdramd running' "$tmp/err" || fail "no hint"
start_nbdramd -s "$control" 1M
control=$tmp/folder/control
ctl list >"$tmp/out" || fail "it was not replaced"
stop_nbdramd
[ ! -e "$control" ] || fail "the socket is left over"
