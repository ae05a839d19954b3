#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Something else than a socket where the Unix socket should be: it stays as it
# is. Paths that cannot be.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

echo precious >"$tmp/file"
wrong 1 "unix:$tmp/file: .*something else.*another path" \
	-l "unix:$tmp/file" 1M
[ "$(cat "$tmp/file")" = precious ] || fail "the file was changed"
mkdir "$tmp/folder"
wrong 1 "unix:$tmp/folder: .*something else" -l "unix:$tmp/folder" 1M
[ -d "$tmp/folder" ] || fail "the folder is gone"
mkfifo "$tmp/pipe"
wrong 1 "unix:$tmp/pipe: .*something else" -l "unix:$tmp/pipe" 1M
[ -p "$tmp/pipe" ] || fail "the pipe is gone"
for target in file nothing; do
	ln -sf "$target" "$tmp/link"
	wrong 1 "unix:$tmp/link: .*something else" -l "unix:$tmp/link" 1M
	[ -L "$tmp/link" ] || fail "the link is gone"
done
[ ! -e "$tmp/nothing" ] || fail "the dangling link was followed"

wrong 2 'unix:: .*1 to 107 bytes' -l unix: 1M
wrong 2 '1 to 107 bytes' -l "unix:$tmp/$(printf '%0108d' 0)" 1M
wrong 1 "unix:$tmp/none/s: .*(o such file|folder)" -l "unix:$tmp/none/s" 1M
wrong 1 "unix:$tmp/file/s: .*ot a directory" -l "unix:$tmp/file/s" 1M
