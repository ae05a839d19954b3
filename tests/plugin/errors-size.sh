#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sizes that are none.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused 'size=0: .*at least one byte' size=0
refused 'size=0: .*at least one byte' 0
refused 'size=0G: .*at least one byte' 0G
for wrong in -1 -1G +5 16Q abc '' ' ' ' 1G' '1G ' 1.5G 0x10 1GB G 1,000 \
		1e9 1G1 '1 G' "$(printf '1\tG')" ١; do
	refused 'size=.*: not a size; write' "size=$wrong"
done
for large in 9223372036854775808 8E 16E 8388608T 18446744073709551615 \
		18446744073709551616 18446744073709551617 \
		99999999999999999999999999999999999999999999; do
	refused "size=$large: more than the largest size" "size=$large"
	refused "size=$large: more than the largest size" "$large"
done
