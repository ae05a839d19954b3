#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool folder that belongs to somebody else.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_root

new_pool
mkdir -m 700 "$pool"
chown 65534 "$pool"
refused "$pool: .*(belong|own|our)" 1M pool="$pool"
[ "$(stat -c '%u %a' "$pool")" = "65534 700" ] || fail "$pool was changed"
[ -z "$(ls -A "$pool")" ] || fail "something was left in $pool"
