#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The description says which disk it is: the same after a restart, another one
# for another disk.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_command nbdinfo

# describe ARGUMENT...: its description, checked for its form.
describe()
{
	local text
	text=$("${nbdkit_command[@]}" -U - "$plugin" "$@" \
		--run 'nbdinfo "$uri"' | sed -n 's/^\tdescription: //p')
	echo "$text" | grep -Eqx 'RAM disk \[uuid=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} gen=[0-9]+\]' ||
		fail "description: '$text'"
	echo "$text"
}

new_pool
first=$(describe 1M pool="$pool") || exit 1
again=$(describe pool="$pool") || exit 1
other=$(describe 1M) || exit 1
third=$(describe 1M) || exit 1
printf '%s\n' "$first" "$again" "$other" "$third"
[ "$first" = "$again" ] || fail "the same disk changed its description"
[ "$other" != "$third" ] || fail "two disks with one uuid"
[ "$first" != "$other" ] || fail "two disks with one uuid"
