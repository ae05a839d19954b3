#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Configuration files that cannot be read: none, a folder, a pipe, a device, a
# loop of links, somebody else's, too large. Each is one line, and no waiting.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cd "$tmp" || fail "no temporary folder"
wrong 1 "error: $tmp/none: .*No such file" -c "$tmp/none"
wrong 1 "error: none/none: .*No such file" -c none/none
wrong 1 'error: : .*No such file' -c ''
mkdir folder
wrong 1 'folder: .*a folder; a file is wanted' -c folder
mkfifo pipe
wrong 1 'pipe: .*no regular file' -c pipe
# Somebody who would write into it.
sleep 60 >pipe &
cleanup_fn kill $!
wrong 1 'pipe: .*no regular file' -c pipe
for device in null zero full tty; do
	[ ! -e "/dev/$device" ] ||
		wrong 1 "/dev/$device: .*no regular file" -c "/dev/$device"
done
ln -s a b
ln -s b a
wrong 1 'a: .*symbolic links' -c a
ln -s nowhere dangling
wrong 1 'dangling: .*No such file' -c dangling
{
	echo '[pool]'
	head -c $((1 << 20)) /dev/zero | tr '\0' '\n'
} >large
wrong 1 'large: larger than 1 MiB; .*conf.d' -c large
# One that has no end.
truncate -s 1T endless
wrong 1 'endless: larger than 1 MiB' -c endless
# A name that could forge a line or harm a terminal.
name=$'x\nerror: \e[31m'
wrong 1 'x\\x0aerror: \\x1b\[31m: .*No such file' -c "$name"

# What is given beside it does not matter.
wrong 1 'none: .*No such file' -c none 1M
wrong 1 'none: .*No such file' -t -c none
# A link to a file is fine.
echo '[pool]' >file
ln -s file link
"$nbdramd" -t -c link || fail "a link"
