#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A disk that is there keeps its way of taking memory; asking for the other one
# by name is an error.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

for is in thin fixed; do
	other=thin
	[ "$is" = fixed ] || other=fixed
	new_pool
	start_nbdkit 8M alloc="$is" pool="$pool" memory=64M
	stop_nbdkit
	refused "alloc=$other: the disk in $pool is $is" 8M alloc="$other" \
		pool="$pool" memory=64M
	start_nbdkit 8M alloc="$is" pool="$pool" memory=64M
	stop_nbdkit || fail "alloc=$is again: exit status $?"
	start_nbdkit pool="$pool" memory=64M
	stop_nbdkit || fail "without alloc: exit status $?"
done
