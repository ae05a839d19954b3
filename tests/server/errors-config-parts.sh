#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files of conf.d that are wrong or cannot be read; conf.d itself.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

mkdir "$tmp/etc" "$tmp/etc/conf.d"
cd "$tmp/etc" || fail "no temporary folder"
printf '%s\n' '[server]' 'workers = 1' >nbdram.conf
part() { wrong 1 "$1" -t -c "$tmp/etc/nbdram.conf"; }
printf '%s\n' '[server]' 'workers = x' >conf.d/50-a.conf
part "$tmp/etc/conf.d/50-a.conf:2: workers = x"
rm conf.d/50-a.conf
ln -s b.conf conf.d/a.conf
part 'conf.d/a.conf: .*No such file'
ln -s a.conf conf.d/b.conf
"$nbdramd" -t -c nbdram.conf 2>"$tmp/err" && fail "links in a loop"
[ "$(grep -c 'symbolic links' "$tmp/err")" = 2 ] || fail "not one line for each"
rm conf.d/?.conf
mkfifo conf.d/pipe.conf
part 'conf.d/pipe.conf: .*no regular file'
rm conf.d/pipe.conf
mkdir conf.d/folder.conf
part 'conf.d/folder.conf: .*a folder'
rmdir conf.d/folder.conf
# What does not end in .conf, or is hidden, is not read; nor what is below.
mkdir conf.d/folder
for name in a b.conf~ .c.conf .conf d.conf.bak folder/e.conf; do
	echo wrong >"conf.d/$name"
done
"$nbdramd" -t -c nbdram.conf || fail "files that are not to be read"
# An empty one is how a part is taken out.
: >conf.d/empty.conf
"$nbdramd" -t -c nbdram.conf || fail "an empty file in conf.d"
for i in $(seq 1001); do
	: >"conf.d/$i.conf"
done
part 'conf.d: more than 1000 files'
rm -r conf.d
: >conf.d
part 'conf.d: .*Not a directory'
rm conf.d
ln -s conf.d conf.d
part 'conf.d: .*symbolic links'
rm conf.d
"$nbdramd" -t -c nbdram.conf || fail "no conf.d"
