#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --help names every option and every key, and nothing else; it goes to standard
# output, as --version.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for option in -h --help; do
	"$nbdramd" "$option" >"$tmp/help" 2>"$tmp/err" || fail "$option"
	[ ! -s "$tmp/err" ] || fail "$option: something on standard error"
done
cat "$tmp/help"
"$nbdramd" --version | grep -Eqx 'nbdramd [0-9][0-9.]*.*' || fail "--version"
[ "$(awk 'length > 80' "$tmp/help" | wc -l)" = 0 ] || fail "lines over 80 columns"

# Every key of the table in the source, and the other way round.
options=$abs_top_srcdir/src/server/options.c
for table in server export; do
	sed -n "/^static const struct key ${table}_keys/,/^};/p" "$options" |
		sed -n 's/^\t{"\([a-z-]*\)", KEY_.*/\1/p' | sort >"$tmp/table"
	letter=o
	[ "$table" = server ] || letter=e
	sed -n "/^keys of -$letter:/,/^\$/s/^  \([a-z-]*\) .*/\1/p" "$tmp/help" |
		sort >"$tmp/told"
	[ "$(wc -l <"$tmp/table")" -gt 3 ] || fail "no keys were found"
	cmp "$tmp/table" "$tmp/told" || fail "keys of -$letter: in the source
$(cat "$tmp/table"), in --help
$(cat "$tmp/told")"
done

# Every option.
sed -n 's/.*getopt_long(argc, argv, "\([a-zA-Z:]*\)".*/\1/p' "$options" |
	tr -d : | grep -o . | sort >"$tmp/table"
sed -n 's/^  -\([a-zA-Z]\).*/\1/p' "$tmp/help" | sort >"$tmp/told"
[ -s "$tmp/table" ] || fail "no options were found"
cmp "$tmp/table" "$tmp/told" || fail "options: $(tr '\n' ' ' <"$tmp/table")"
for long in $(sed -n 's/^\t\t{"\([a-z-]*\)", [a-z]*_argument.*/\1/p' "$options"); do
	grep -q -- "--$long\b" "$tmp/help" || fail "--$long is not told"
done
