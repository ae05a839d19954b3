#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Values of full and headroom that are none.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for value in 5s wait 'wait 5' 'wait  soon' 'wait 99ms' 'wait 2h' 'error 5s' never; do
	case $value in
	'wait 5') continue ;; # seconds
	esac
	wrong 2 'full = .*: error, or wait and a time' -o "full=$value" 1M
done
for value in -1 10% much 9T; do
	wrong 2 'headroom = .*: a size from 0 to 8T' -o "headroom=$value" 1M
done
# Nothing is left for a pool of a size that follows from that.
wrong 1 'MiB are for the host itself; free some, or give' \
	-l "unix:$tmp/s" -o headroom=8T 1M
