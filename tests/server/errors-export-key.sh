#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Keys of -e that there are not, and values that they cannot have.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 'no key "siez"; see --help' -e a,siez=1M
wrong 2 'no key "SIZE"' -e a,SIZE=1M
wrong 2 'no key "workers"' -e a,size=1M,workers=1
wrong 2 'no key ""' -e a,=1M
wrong 2 'alloc=.*: thin or fixed is wanted' -e a,size=1M,alloc=thick
wrong 2 'readonly=.*: yes or no is wanted' -e a,size=1M,readonly=maybe
wrong 2 'default=.*: yes or no is wanted' -e a,size=1M,default=2
for key in size quota guarantee; do
	for value in x -1 '' 1GB; do
		wrong 2 "$key=$value: a size such as 512M or 16G is wanted" \
			-e "a,size=1M,$key=$value"
	done
	wrong 2 "$key=0 is out of range" -e "a,size=1M,$key=0"
	wrong 2 "$key=8E.* (range|is wanted)" -e "a,size=1M,$key=8E"
done
# A guarantee that cannot be kept, a disk that is not there.
wrong 1 'export a: the pool of 64 MiB .*larger \(-m\)' \
	-l "unix:$tmp/s" -m 64M -e a,size=1G,alloc=fixed
wrong 1 'export a: the pool of 64 MiB .*larger \(-m\)' \
	-l "unix:$tmp/s" -m 64M -e a,size=1G,guarantee=512M
wrong 1 'export a: there is no such disk yet; .*-e a,size=16G' \
	-l "unix:$tmp/s" -m 64M -e a
[ ! -e "$tmp/s" ] || fail "a socket was left behind"
