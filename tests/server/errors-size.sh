#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A disk's size that is none.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for wrong in 0 0G -5 +5 1.5G 1GB ten 1e9 0x10 '1 G' '' ' 1G' 8E 16E \
		18446744073709551617; do
	case $wrong in
	-*) set -- -- "$wrong" ;;
	*) set -- "$wrong" ;;
	esac
	wrong 2 "is no size .*512M, 16G and 2T" -l "unix:$tmp/s" "$@"
	wrong 2 'size = .*512M or 16G' -l "unix:$tmp/s" -e "a,size=$wrong"
	[ ! -e "$tmp/s" ] || fail "a socket was made"
done
wrong 2 "\"2G\" is one word too many" 1G 2G
