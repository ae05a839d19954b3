#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool folder that others may look into.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
for mode in 0755 0750 0701 0770 0777 01777; do
	mkdir "$pool"
	chmod "$mode" "$pool"
	refused "$pool: .*0?700" 1M pool="$pool"
	[ "$(stat -c %a "$pool")" = "${mode#0}" ] || fail "the mode was changed"
	[ -z "$(ls -A "$pool")" ] || fail "something was left in $pool"
	rmdir "$pool" || fail "cannot remove $pool"
done
