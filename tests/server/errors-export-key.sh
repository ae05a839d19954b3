#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Keys of -e that there are not, and values that they cannot have.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 '-e a: .*no key "siez" in .*; did you mean "size"' -e a,siez=1M
wrong 2 'no key "SIZE" .*did you mean "size"' -e a,SIZE=1M
wrong 2 'no key "workers" .*it is one of \[server\]' -e a,size=1M,workers=1
wrong 2 'no key "path" .*it is one of \[pool\]' -e a,size=1M,path=/
wrong 2 'no key "colour" .*; see .*--help' -e a,size=1M,colour=red
wrong 2 'no key ""' -e a,=1M
wrong 2 'alloc = thick: thin or fixed is wanted' -e a,size=1M,alloc=thick
wrong 2 'readonly = maybe: yes or no is wanted' -e a,size=1M,readonly=maybe
wrong 2 'default = 2: yes or no is wanted' -e a,size=1M,default=2
wrong 2 'max-connections = x: a number' -e a,size=1M,max-connections=x
wrong 2 'guarantee is larger than its quota' \
	-e a,size=1M,quota=64K,guarantee=1M
wrong 2 'quota is smaller' -e a,size=1M,quota=64K,alloc=fixed
for key in size quota guarantee; do
	for value in x -1 '' 1GB 0 8E; do
		wrong 2 "$key = $value: a size from 1 to 2.63-1 such as 512M or 16G is wanted" \
			-e "a,size=1M,$key=$value"
	done
done
# A guarantee that cannot be kept, a disk that is not there.
wrong 1 'export a: the pool of 64 MiB .*larger \(-m\)' \
	-l "unix:$tmp/s" -m 64M -e a,size=1G,alloc=fixed
wrong 1 'export a: the pool of 64 MiB .*larger \(-m\)' \
	-l "unix:$tmp/s" -m 64M -e a,size=1G,guarantee=512M
wrong 1 'export a: there is no such disk yet; .*-e a,size=16G' \
	-l "unix:$tmp/s" -m 64M -e a
[ ! -e "$tmp/s" ] || fail "a socket was left behind"
