#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The file of save = comes from elsewhere while the daemon runs, as when its file system
# is mounted late: what a disk has that began without it does not replace it unasked.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mkdir "$tmp/files"
printf '%s\n' '[server]' "listen = unix:$tmp/nbd" '[pool]' 'size = 64M' \
	'[export a]' 'size = 1M' "save = $tmp/files/a.img" 'save-every = 1s' >"$tmp/conf"
start()
{
	start_nbdramd --file -c "$tmp/conf" -s "$tmp/control"
	control=$tmp/control
	said() { grep -q "a: not saved: $tmp/files/a.img: was not there before" "$log"; }
}

# Saved before it comes: then it is ours.
start
saved() { [ -e "$tmp/files/a.img" ]; }
wait_for 20 saved || fail "not saved at all"
stop_nbdramd
rm "$tmp/files/a.img"

sed -i '/save-every/d' "$tmp/conf"
start
dd if=/dev/urandom of="$tmp/good" bs=1M count=1 2>/dev/null
cp "$tmp/good" "$tmp/files/a.img"
kill -TERM "$pid"
wait "$pid"
status=$?
_nbdramd_said "$pid" || fail "a sanitizer has found something"
[ "$status" = 1 ] || fail "exit status $status"
cmp "$tmp/good" "$tmp/files/a.img" || fail "what came from elsewhere is gone"
grep -q "was not there before, and is now.*nbdramctl save" "$log" || fail "not said"

# Every so often neither; but when that is asked for.
rm "$tmp/files/a.img"
echo 'save-every = 2s' >>"$tmp/conf"
start
cp "$tmp/good" "$tmp/files/a.img"
wait_for 20 said || fail "not said when it is due"
cmp "$tmp/good" "$tmp/files/a.img" || fail "what came from elsewhere is gone"
"$nbdramctl" -s "$tmp/control" save a || fail "save by command"
cmp "$tmp/good" "$tmp/files/a.img" >/dev/null && fail "it was not saved by command"
stop_nbdramd
