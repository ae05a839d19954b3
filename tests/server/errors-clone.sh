#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is to be a clone of itself, directly or by way of others, or of nothing.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cd "$tmp" || fail "no temporary folder"
# clones PATTERN [X=Y]...: a file of these clones is wrong in this one way.
clones()
{
	local pattern=$1 pair
	shift
	for pair; do
		printf '[export %s]\nclone = %s\n' "${pair%=*}" "${pair#*=}"
	done >conf
	wrong 1 "$pattern" -t -c conf
}
clones 'conf:1: export "a": cannot be a clone of itself' a=a
clones 'conf:3: export "b": cannot be a clone of itself' a=b b=b
clones 'conf:1: export "a": it is a clone of "b", and that,' a=b b=a
clones 'conf:1: export "a": it is a clone of "b", and that,' a=b b=c c=a
clones 'conf:3: export "b": it is a clone of "c", and that,' a=b b=c c=b d=a
clones 'conf:2: clone = : the name of an export is wanted' a=
clones 'conf:2: clone = x;y: the name of an export is wanted' 'a=x;y'

# Only the pool can tell whether there is such a disk, if it lasts.
printf '[pool]\nsize = 16M\n[export a]\nclone = b\n' >conf
"$nbdramd" -t -c conf -p "$tmp/pool" || fail "what only the pool can tell"
wrong 1 'conf:3: export a: clone = b: there is no such disk' -c conf \
	-l "unix:$tmp/s" -s "$tmp/c"
wrong 1 'export a: clone = b: there is no such disk' -m 16M \
	-e a,clone=b -l "unix:$tmp/s" -s "$tmp/c"
wrong 2 '-e a: export "a": cannot be a clone of itself' -t -e a,clone=a
# One line for each that is wrong, and none for what is a clone of it.
wrong 1 'export b: there is no such disk yet' -m 16M -e b -e a,clone=b \
	-l "unix:$tmp/s" -s "$tmp/c"
