#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No size, and no pool that might hold a disk.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused 'Give a size'
refused 'Give a size' alloc=thin
refused 'Give a size' memory=64M

# With pool= it is known only later whether a disk is there. The folder is not
# made for nothing.
new_pool
refused "$pool: there is no disk in it yet; .*size=" pool="$pool"
[ ! -e "$pool" ] || fail "$pool was made"
