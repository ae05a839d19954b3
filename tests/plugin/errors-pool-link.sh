#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A symbolic link where the pool's folder or its file should be. Links in the
# folders above are the administrator's and are followed.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
parent=${pool%/*}
mkdir -m 700 "$parent/real"
ln -s real "$pool"
refused "$pool: .*(link|not a folder|Not a directory)" 1M pool="$pool"
# With a slash behind it the kernel would follow it.
refused "$pool/: .*(link|not a folder|Not a directory)" 1M pool="$pool/"
[ -z "$(ls -A "$parent/real")" ] || fail "the link was followed"
rm "$pool"

mkdir -m 700 "$pool"
echo precious >"$parent/target"
chmod 600 "$parent/target"
ln -s ../target "$pool/pool"
refused "$pool" 1M pool="$pool"
[ "$(cat "$parent/target")" = precious ] || fail "the link was followed"
[ -h "$pool/pool" ] || fail "the link was replaced"
rm "$pool/pool"
ln -s ../nothing "$pool/pool"
refused "$pool" 1M pool="$pool"
[ ! -e "$parent/nothing" ] || fail "the dangling link was followed"
[ -h "$pool/pool" ] || fail "the dangling link was replaced"
rm "$pool/pool"

ln -s "$parent" "$tmp/above"
start_nbdkit 1M pool="$tmp/above/p" memory=16M
stop_nbdkit || fail "with a link above: exit status $?"
[ -f "$pool/pool" ] || fail "no pool behind the link above"
