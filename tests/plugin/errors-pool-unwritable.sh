#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool folder in a place where we may not write: one of another user's, and
# one on a file system that is mounted for reading only.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_root
requires_command setpriv unshare

new_pool
parent=${pool%/*}
chmod 755 "$parent" "$tmp"
case $sanitizers in
'')
	cp "$plugin" "$parent/plugin.so"
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$nbdkit" -U - "$parent/plugin.so" 1M pool="$pool" --run true \
		>"$tmp/out" 2>&1
	status=$?
	cat "$tmp/out"
	[ "$status" = 1 ] || fail "as nobody: exit status $status"
	[ "$(wc -l <"$tmp/out")" = 1 ] || fail "as nobody: not one line"
	grep -q "nbdkit: error: .*$pool.*ermission" "$tmp/out" ||
		fail "as nobody: wrong words"
	[ ! -e "$pool" ] || fail "$pool was made"
	rm "$parent/plugin.so"
	;;
esac

mkdir "$parent/ro"
unshare -m true || skip "no mount namespaces"
# shellcheck disable=SC2016
parent=$parent unshare -m bash -c '
	mount -t tmpfs -o mode=700 none "$parent/ro" &&
	mkdir -m 700 "$parent/ro/there" &&
	mount -o remount,ro "$parent/ro" || exit 77
	for pool in there new; do
		"$@" pool="$parent/ro/$pool" --run true && exit 1
	done
	[ "$(find "$parent/ro" | wc -l)" = 2 ]' - \
	"${nbdkit_command[@]}" -U - "$plugin" 1M >"$tmp/out" 2>&1
status=$?
cat "$tmp/out"
[ "$status" != 77 ] || skip "cannot mount"
[ "$status" = 0 ] || fail "on a read-only file system: status $status"
[ "$(grep -c "nbdkit: error: .*/ro/.*ead-only" "$tmp/out")" = 2 ] ||
	fail "on a read-only file system: wrong words"
[ "$(wc -l <"$tmp/out")" = 2 ] || fail "not one line each"
