#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Commands and options of nbdramctl: --help and the manual page have the same
# ones, the daemon knows the same commands, and the completion finds all of them.
. ./functions.sh

page=$abs_top_srcdir/man/nbdramctl.pod
[ -x "$nbdramctl" ] || skip "$nbdramctl has not been built"

"$nbdramctl" --help >"$tmp/help" 2>"$tmp/errors" || fail "nbdramctl --help"
[ ! -s "$tmp/errors" ] || fail "nbdramctl --help says something on stderr"

# words NAME: sort what comes into $tmp/NAME; there must be something.
words()
{
	sort -u >"$tmp/$1"
	[ -s "$tmp/$1" ] || fail "found no $1"
}

# page_items HEADING: the items of this section of the page.
page_items()
{
	awk -v heading="$1" '
		/^=head/ { inside = $0 ~ "^=head[12] " heading "$" }
		inside && /^=item / { print substr($0, 7) }' "$page"
}

sed -n '/^commands:/,/^$/s/^  \([a-z].*\)/\1/p' "$tmp/help" | words help-commands
# With arguments and options, as --help has them.
page_items COMMANDS | sed 's/[BI]<\([^>]*\)>/\1/g' | words page-commands
diff -u "$tmp/help-commands" "$tmp/page-commands" ||
	fail "commands of --help (-) and of nbdramctl.pod (+) differ"

grep -o -E -- '(^| |\[)--?[a-zA-Z][a-z-]*' "$tmp/help" | tr -d ' [' |
	words help-options
page_items OPTIONS | grep -o 'B<-[^>]*>' | sed 's/^B<//; s/>$//' |
	words page-options
diff -u "$tmp/help-options" "$tmp/page-options" ||
	fail "options of --help (-) and of nbdramctl.pod (+) differ"

# tls-init, attach and bench ask no daemon.
sed 's/ .*//' "$tmp/help-commands" |
	grep -vxE 'tls-init|bench|attach|detach|attached|attach-watch' | words names
sed -n '/^static const struct server_command commands/,/^};/s/^	{"\([a-z]*\)".*/\1/p' \
	"$abs_top_srcdir/src/server/commands.c" | words server-names
diff -u "$tmp/names" "$tmp/server-names" ||
	fail "commands of nbdramctl (-) and of nbdramd (+) differ"

# Codes of failures.
sed -n '/^Codes:/,/^$/p' "$page" | grep -o 'C<[^>]*>' | sed 's/^C<//; s/>$//' |
	words page-codes
grep -h -A 1 -E 'call_fail\(|queue_error\(|caller_refuse\(|control_failed\(' \
	"$abs_top_srcdir"/src/server/{caller,commands*,control-socket}.c |
	tr -d '\n' | grep -o -E '(call_fail|queue_error|caller_refuse|control_failed)\([^"]*(\? "[a-z-]+" : )?"[a-z-]+"' |
	grep -o '"[a-z-]*"' | tr -d '"' | words source-codes
diff -u "$tmp/source-codes" "$tmp/page-codes" ||
	fail "codes of the source (-) and of nbdramctl.pod (+) differ"

# What the completion offers at the end of these words.
complete_words()
{
	PATH=$(dirname "$nbdramctl"):$PATH bash -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_nbdramctl
		printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$abs_top_srcdir/conf/nbdramctl.bash" "$@"
}
complete_words nbdramctl '' | words complete-commands
sed 's/ .*//' "$tmp/help-commands" | words all-names
diff -u "$tmp/all-names" "$tmp/complete-commands" ||
	fail "commands of --help (-) and of the completion (+) differ"
complete_words nbdramctl show - | words complete-options
diff -u "$tmp/help-options" "$tmp/complete-options" ||
	fail "options of --help (-) and of the completion (+) differ"
# Where they are saved is for the configuration alone.
complete_words nbdramctl create new '' | tr -d = | words complete-keys
"$nbdramd" --help | awk '/^keys of -e/ { inside = 1; next }
	/^$/ { inside = 0 }
	inside' | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' |
	grep -vx -e save -e save-every | words export-keys
diff -u "$tmp/export-keys" "$tmp/complete-keys" ||
	fail "keys of an export (-) and those of the completion (+) differ"
echo "$(wc -l <"$tmp/names") commands"
