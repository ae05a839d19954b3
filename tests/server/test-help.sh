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

# Every key of the table in the source, and the other way round; each with a
# text.
options=$abs_top_srcdir/src/server/options.c
keys=$abs_top_srcdir/src/server/config-keys.c
for section in SERVER POOL EXPORT TEMPLATE; do
	sed -n "s/^\t{CONFIG_$section, \"\([a-z-]*\)\", .*/\1/p" "$keys" |
		sort >"$tmp/table"
	sed -n "/^keys of.*\[${section,,}[] ]/,/^\$/s/^  \([a-z-]*\) \+[^ ].*/\1/p" \
		"$tmp/help" | sort >"$tmp/told"
	[ "$(wc -l <"$tmp/table")" -gt 2 ] || fail "no keys were found"
	cmp "$tmp/table" "$tmp/told" || fail "keys of [${section,,}]: in the source
$(cat "$tmp/table"), in --help
$(cat "$tmp/told")"
done

# Every option.
sed -n 's/.*letters = "\([a-zA-Z:]*\)".*/\1/p' "$options" |
	tr -d : | grep -o . | sort >"$tmp/table"
sed -n 's/^  -\([a-zA-Z]\).*/\1/p' "$tmp/help" | sort >"$tmp/told"
[ -s "$tmp/table" ] || fail "no options were found"
cmp "$tmp/table" "$tmp/told" || fail "options: $(tr '\n' ' ' <"$tmp/table")"
for long in $(sed -n 's/^\t\t{"\([a-z-]*\)", [a-z]*_argument.*/\1/p' "$options"); do
	grep -q -- "--$long\b" "$tmp/help" || fail "--$long is not told"
done
