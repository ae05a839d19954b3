#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Less memory than a fixed disk needs: the message says how much that is, and
# with so much it works.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

for size in 1M 100M 1000003 448M 600M; do
	refused "alloc=fixed: a disk of $size needs memory=[0-9]+[KMG] " \
		"$size" alloc=fixed memory=1M
	need=$(sed -n 's/.*needs memory=\([0-9A-Z]*\) .*/\1/p' "$tmp/refused")
	start_nbdkit "$size" alloc=fixed memory="$need"
	stop_nbdkit || fail "$size alloc=fixed memory=$need: exit status $?"
done

# What a host cannot have, without any memory= given.
refused 'alloc=fixed: a disk of 1P needs memory=.* take alloc=thin' \
	1P alloc=fixed
refused 'alloc=fixed: a disk of .* needs memory=.* take alloc=thin' \
	9223372036854775807 alloc=fixed

# A pool that was made for such a disk only is not left behind.
new_pool
refused 'alloc=fixed: a disk of 1G needs' 1G alloc=fixed memory=64M pool="$pool"
[ ! -e "$pool" ] || fail "$pool was left behind"
mkdir -m 700 "$pool"
refused 'alloc=fixed: a disk of 1G needs' 1G alloc=fixed memory=64M pool="$pool"
[ -d "$pool" ] || fail "$pool is gone"
[ -z "$(ls -A "$pool")" ] || fail "something was left in $pool"
