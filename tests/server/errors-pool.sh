#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pools that cannot be had: another's, somebody else's, none at all.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
start_nbdramd -p "$pool" -m 64M 1M
wrong 1 "$pool.*(in use|another process)" -l "unix:$tmp/s" -p "$pool" 1M
[ ! -e "$tmp/s" ] || fail "a socket was left behind"
stop_nbdramd
wrong 1 "$tmp/not/there" -l "unix:$tmp/s" -p "$tmp/not/there" 1M
echo precious >"$tmp/file"
wrong 1 "$tmp/file" -l "unix:$tmp/s" -p "$tmp/file" 1M
[ "$(cat "$tmp/file")" = precious ] || fail "the file was changed"
mkdir -m 755 "$tmp/folder"
wrong 1 "$tmp/folder: .*0?700" -l "unix:$tmp/s" -p "$tmp/folder" 1M
wrong 2 '-p: path = : a path is wanted' -p '' 1M
