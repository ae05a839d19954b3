#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Huge pages that the system has not got, or not there: said in one line, and
# nothing is left behind.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 'hugepages = 1G: no, 2M or thp is wanted' -o hugepages=1G 1M
wrong 2 'hugepages = yes' -o hugepages=yes 1M

new_pool
wrong 1 "$pool: hugepages=2M needs .* on a hugetlbfs" -l "unix:$tmp/s" \
	-o hugepages=2M -m 64M -p "$pool" 1M
[ ! -e "$pool" ] || fail "a folder was left behind"

# A test that sets some aside has this lock.
exec {pages}</proc/sys/vm/nr_hugepages && flock "$pages"
set_aside=/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages
if [ "$(cat "$set_aside" 2>/dev/null)" = 0 ]; then
	for size in 64M auto; do
		wrong 1 'hugepages=2M: .*0 are free.*vm.nr_hugepages' \
			-l "unix:$tmp/s" -o hugepages=2M -o size="$size" 1M
	done
fi
enabled=/sys/kernel/mm/transparent_hugepage/shmem_enabled
if grep -Eq '\[(never|deny)\]' "$enabled" 2>/dev/null; then
	wrong 1 'hugepages=thp: .*echo advise' -l "unix:$tmp/s" \
		-o hugepages=thp -m 64M 1M
	wrong 1 'hugepages=thp' -l "unix:$tmp/s" \
		-o hugepages=thp -m 64M -p "$pool" 1M
	[ ! -e "$pool" ] || fail "a folder was left behind"
fi
[ ! -e "$tmp/s" ] || fail "a socket was left behind"
