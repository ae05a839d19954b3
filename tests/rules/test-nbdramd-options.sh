# SPDX-License-Identifier: BSD-3-Clause
# Options and keys of nbdramd: --help and the manual page have the same ones, and
# the README mentions none that is not there.
. ./functions.sh

program=$abs_top_builddir/src/server/nbdramd
page=$abs_top_srcdir/man/nbdramd.pod
readme=$abs_top_srcdir/README.md
[ -x "$program" ] || skip "$program has not been built"
[ -f "$page" ] || fail "no $page"

"$program" --help >"$tmp/help" 2>"$tmp/errors" || fail "nbdramd --help"
[ ! -s "$tmp/errors" ] || fail "nbdramd --help says something on stderr"

# words NAME: sort what comes into $tmp/NAME; there must be something.
words()
{
	sort -u >"$tmp/$1"
	[ -s "$tmp/$1" ] || fail "found no $1"
}

# help_part FIRST LAST: lines between two headings; no LAST: to the end.
help_part()
{
	awk -v first="$1" -v last="$2" '
		$0 == first { inside = 1; next }
		last != "" && $0 == last { inside = 0 }
		inside' "$tmp/help"
}

# page_items HEADING: the items of this section of the page, bold words alone.
page_items()
{
	awk -v heading="$1" '
		/^=head/ { inside = $0 ~ "^=head[12] " heading "$" }
		inside && /^=item / { print }' "$page" |
		grep -o 'B<[^>]*>' | sed 's/^B<//; s/>$//'
}

# Options stand at the beginning of a line, "  -t, --test   text".
sed -n '/^keys of/q; s/^ \{2,6\}\(-[^ ].*\)/\1/p' "$tmp/help" |
	sed 's/  .*//' | grep -o -E -- '(^|[ ,])--?[a-zA-Z][a-z-]*' |
	tr -d ' ,' | words help-options
page_items OPTIONS | words page-options

help_part 'keys of -e:' 'keys of -o:' |
	sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' | words help-export-keys
page_items 'KEYS OF AN EXPORT' | words page-export-keys

help_part 'keys of -o:' '' |
	sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' | words help-server-keys
page_items 'KEYS OF THE SERVER' | words page-server-keys

for what in options export-keys server-keys; do
	diff -u "$tmp/help-$what" "$tmp/page-$what" ||
		fail "$what of --help (-) and of nbdramd.pod (+) differ"
done

# The README: what its examples pass to nbdramd, and the first column of its
# tables of options and keys, which are between these marks.
grep -q '^<!-- nbdramd: options -->$' "$readme" || fail "no table in README.md"
awk '/^<!-- nbdramd: options -->$/ { inside = 1; next }
	/^<!-- / { inside = 0 }
	inside && /^\| `/ { split($0, cell, "|"); print cell[2] }' "$readme" |
	grep -o '`[^`]*`' | tr -d '`' |
	sed 's/[ =].*//' | grep -v '^[A-Z]' | words readme-table
grep -E '^ +(.*/)?nbdramd ' "$readme" |
	grep -o -E -- ' --?[a-zA-Z][a-z-]*' | tr -d ' ' | words readme-options
grep -E '^ +(.*/)?nbdramd ' "$readme" |
	grep -o -E -- '-e [^ ]+' | sed 's/-e [^,]*//' | tr ',' '\n' |
	sed 's/=.*//' | grep . | words readme-export-keys

known()
{
	local unknown
	unknown=$(comm -23 "$tmp/$1" <(sort -u "${@:2}"))
	[ -z "$unknown" ] || fail "README.md has what --help has not:" $unknown
}
known readme-options "$tmp/help-options"
known readme-export-keys "$tmp/help-export-keys"
known readme-table "$tmp/help-options" "$tmp/help-export-keys" \
	"$tmp/help-server-keys"

# The program takes what it says: each key with a value that suits its type.
for key in $(cat "$tmp/help-server-keys"); do
	case $key in
	listen) value=localhost:10809 ;;
	insecure) value=yes ;;
	size | warm) value=64M ;;
	path) value=$tmp/pool ;;
	handshake-timeout) value=5s ;;
	*) value=1 ;;
	esac
	"$program" -t -o "$key=$value" 1G || fail "-o $key=$value is refused"
done
for key in $(cat "$tmp/help-export-keys"); do
	case $key in
	alloc) value=thin ;;
	readonly | default) value=yes ;;
	*) value=64M ;;
	esac
	"$program" -t -e "disk,size=1G,$key=$value" ||
		fail "-e $key=$value is refused"
done
echo "$(cat "$tmp"/help-* | wc -l) options and keys"
