#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each example of a configuration is taken as it is by nbdramd -t, and the manual's
# recipes name all of them, and no other.
. ./functions.sh

[ -x "$nbdramd" ] || skip "$nbdramd has not been built"
examples=$abs_top_srcdir/conf/examples
page=$abs_top_srcdir/man/nbdram.conf.pod
PATH=$PATH:/usr/sbin:/sbin

"$nbdramctl" tls-init "$tmp/tls" >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
count=0
for file in "$examples"/*.conf; do
	name=${file##*/}
	more=()
	! grep -q '^tls-dir' "$file" || more=(-o "tls-dir=$tmp/tls")
	"$nbdramd" -t -c "$file" "${more[@]}" -s "$tmp/control" >"$tmp/out" 2>&1
	status=$?
	# A mkfs may be missing here.
	if grep -q 'there is no such program' "$tmp/out"; then
		"$nbdramd" -t -c "$file" "${more[@]}" -s "$tmp/control" \
			-p "$tmp/no-pool" >"$tmp/out" 2>&1
		status=$?
	fi
	[ "$status" = 0 ] || fail "$name: $(cat "$tmp/out")"
	[ ! -s "$tmp/out" ] || fail "$name: -t says: $(cat "$tmp/out")"
	count=$((count + 1))
	echo "$name" >>"$tmp/there"
done
[ "$count" -ge 4 ] || fail "only $count examples"
awk '/^=head1/ { inside = $2 == "RECIPES" } inside' "$page" |
	grep -o 'F<[a-z-]*\.conf>' | sed 's/F<//; s/>//' | sort -u >"$tmp/named"
diff -u "$tmp/there" "$tmp/named" || fail "examples (-) and recipes of the manual (+) differ"
echo "$count examples"
