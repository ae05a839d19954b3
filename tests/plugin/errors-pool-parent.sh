#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool folder that cannot be made.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused 'pool=: name the folder' 1M pool=
refused "$tmp/not/there" 1M pool="$tmp/not/there"
[ ! -e "$tmp/not" ] || fail "$tmp/not was made"
refused '/proc/nbdram' 1M pool=/proc/nbdram
touch "$tmp/file"
refused "$tmp/file" 1M pool="$tmp/file"
refused "$tmp/file/p" 1M pool="$tmp/file/p"
long=$tmp/$(printf '%0300d' 0)
refused 'name too long|too long' 1M pool="$long"
