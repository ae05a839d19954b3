#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every way of writing a size.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_command nbdinfo

while read -r text bytes; do
	for argument in "$text" "size=$text"; do
		got=$("${nbdkit_command[@]}" -U - "$plugin" "$argument" \
			--run 'nbdinfo --size "$uri"') ||
			fail "$argument: exit status $?"
		[ "$got" = "$bytes" ] || fail "$argument: $got bytes"
	done
done <<'END'
1	1
4096	4096
0004096	4096
4096b	4096
3s	1536
64K	65536
64k	65536
16M	16777216
16m	16777216
3G	3221225472
2T	2199023255552
1P	1125899906842624
7E	8070450532247928832
8388607T	9223370937343148032
9223372036854775807	9223372036854775807
END
