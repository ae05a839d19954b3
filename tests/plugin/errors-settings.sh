#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How memory is to be: values that are none, and what the system has not got. A pool
# that was not there is not made.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused 'headroom=much: not a size' 1G headroom=much
for value in 1G yes 2m; do
	refused "hugepages=$value: not known; there are no, 2M" \
		1G "hugepages=$value"
done
refused 'lock=perhaps: yes or no' 1G lock=perhaps
for value in all -1 1024 0-1 ''; do
	refused "numa=$value: not known; there are any" 1G "numa=$value"
done
pool=$tmp/pool
refused 'hugepages=2M needs a pool folder on a hugetlbfs' \
	1M memory=64M hugepages=2M "pool=$pool"
if [ -e /sys/devices/system/node/has_memory ]; then
	refused 'numa=1000: there is no such node' \
		1M memory=64M numa=1000 "pool=$pool"
fi
# A test that sets some aside has this lock.
exec {pages}</proc/sys/vm/nr_hugepages && flock "$pages"
set_aside=/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages
if [ "$(cat "$set_aside" 2>/dev/null)" = 0 ]; then
	refused 'hugepages=2M: .*0 are free.*vm.nr_hugepages' \
		1M memory=64M hugepages=2M
fi
[ ! -e "$pool" ] || fail "a folder was left behind"
