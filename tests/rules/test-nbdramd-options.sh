# SPDX-License-Identifier: BSD-3-Clause
# Options and keys of nbdramd: --help, the manual pages and the sample of a
# configuration have the same ones, and the README mentions none that is not
# there.
. ./functions.sh

program=$abs_top_builddir/src/server/nbdramd
page=$abs_top_srcdir/man/nbdramd.pod
conf_page=$abs_top_srcdir/man/nbdram.conf.pod
sample=$abs_top_srcdir/conf/nbdram.conf
readme=$abs_top_srcdir/README.md
sections=(server pool export template)
[ -x "$program" ] || skip "$program has not been built"
for file in "$page" "$conf_page" "$sample"; do
	[ -f "$file" ] || fail "no $file"
done

"$program" --help >"$tmp/help" 2>"$tmp/errors" || fail "nbdramd --help"
[ ! -s "$tmp/errors" ] || fail "nbdramd --help says something on stderr"

# words NAME: sort what comes into $tmp/NAME; there must be something.
words()
{
	sort -u >"$tmp/$1"
	[ -s "$tmp/$1" ] || fail "found no $1"
}

# page_items PAGE HEADING: the items of this section of a page, bold words alone.
page_items()
{
	awk -v heading="$2" '
		/^=head/ { inside = index($0, "=head1 " heading) == 1 }
		inside && /^=item / { print }' "$1" |
		grep -o 'B<[^>]*>' | sed 's/^B<//; s/>$//'
}

# Options stand at the beginning of a line, "  -t, --test   text".
sed -n '/^Keys/q; s/^ \{2,6\}\(-[^ ].*\)/\1/p' "$tmp/help" |
	sed 's/  .*//' | grep -o -E -- '(^|[ ,])--?[a-zA-Z][a-z-]*' |
	tr -d ' ,' | words help-options
page_items "$page" OPTIONS | words page-options
diff -u "$tmp/help-options" "$tmp/page-options" ||
	fail "options of --help (-) and of nbdramd.pod (+) differ"

# Keys stand below a line that names their section, "  key   text [default]".
for section in "${sections[@]}"; do
	awk -v first="[$section" '
		/^keys of/ { inside = index($0, first) > 0 }
		inside && /^  [a-z]/' "$tmp/help" >"$tmp/help-of-$section"
	sed 's/^  \([a-z-]*\) .*/\1/' "$tmp/help-of-$section" |
		words "help-$section"
	page_items "$conf_page" "KEYS OF [$section" | words "page-$section"
	diff -u "$tmp/help-$section" "$tmp/page-$section" ||
		fail "keys of [$section] in --help (-) and in nbdram.conf.pod (+) differ"

	# The sample: every key once, with its default where it has one.
	awk -v first="[$section" '
		/^#?\[/ {
			sub(/^#/, "")
			inside = index($0, first) == 1
			next
		}
		inside && /^#?[^# ]/ { sub(/^#/, ""); print }' "$sample" \
		>"$tmp/sample-of-$section"
	sed 's/ *=.*//' "$tmp/sample-of-$section" | sort >"$tmp/sample-$section"
	diff -u "$tmp/help-$section" "$tmp/sample-$section" ||
		fail "keys of [$section] in --help (-) and in the sample (+) differ"
	case $section in
	server | pool)
		sed -n 's/^  \([a-z-]*\) .* \[\(.*\)\]$/\1 = \2/p' \
			"$tmp/help-of-$section" | words "defaults-$section"
		missing=$(grep -vxFf "$tmp/sample-of-$section" \
			"$tmp/defaults-$section")
		[ -z "$missing" ] || fail "not so in the sample: $missing"
		;;
	esac
done

# What a file says, and not what is to be found on this host by it.
alone=(-o tls=off --insecure -p "$tmp/no-pool")

# The sample as it is, and with all of its settings, is taken.
"$program" -t -c "$sample" >"$tmp/errors" 2>&1 ||
	fail "the sample: $(cat "$tmp/errors")"
[ ! -s "$tmp/errors" ] || fail "-t says something: $(cat "$tmp/errors")"
sed 's/^#\([^# ]\)/\1/' "$sample" >"$tmp/all.conf"
"$program" -t -c "$tmp/all.conf" "${alone[@]}" >"$tmp/errors" 2>&1 ||
	fail "all of the sample: $(cat "$tmp/errors")"

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
known readme-export-keys "$tmp/help-export"
known readme-table "$tmp/help-options" "$tmp/help-server" "$tmp/help-pool" \
	"$tmp/help-export"
# Its example of a file.
awk '/^    \[/ { inside = 1 }
	/^[^ ]/ { inside = 0 }
	inside' "$readme" | sed 's/^    //' >"$tmp/readme.conf"
[ -s "$tmp/readme.conf" ] || fail "no file in README.md"
"$program" -t -c "$tmp/readme.conf" "${alone[@]}" >"$tmp/errors" 2>&1 ||
	fail "the file in README.md: $(cat "$tmp/errors")"
# Those of the manual.
awk '/^ \[/ { inside = 1; if (!was) { n++; was = 1 } }
	/^[^ ]/ { inside = 0; was = 0 }
	inside { sub(/^ /, ""); print > (out n ".conf") }' \
	out="$tmp/page" "$conf_page"
for file in "$tmp"/page[0-9]*.conf; do
	grep -q '^key = value' "$file" && continue
	"$program" -t -c "$file" "${alone[@]}" >"$tmp/errors" 2>&1 ||
		fail "a file in nbdram.conf.pod: $(cat "$file" "$tmp/errors")"
done

# The program takes what it says: each key with a value that suits its type, in
# a file and on the command line.
for section in server pool export; do
	for key in $(cat "$tmp/help-$section"); do
		with=
		case $key in
		listen) value=localhost:10809 ;;
		insecure | readonly | default | lock | detect-zeroes) value=yes ;;
		size | warm | quota | guarantee | headroom) value=64M ;;
		full) value="wait 5s" ;;
		hugepages) value=2M ;;
		save | path | control | tls-dir) value=$tmp/pool ;;
		tls) value=require ;;
		tls-verify) value=no ;;
		allow) value=any ;;
		writers) value=many ;;
		handshake-timeout) value=5s ;;
		alloc) value=thin ;;
		save-every) value=15m with=save=$tmp/save ;;
		load) value=lazy with=image=$tmp/pool ;;
		block) value=4K with=format=ext4 ;;
		label | files) value=$tmp/files with=format=ext4 ;;
		*) value=1 ;;
		esac
		if [ "$section" = export ]; then
			set -- -e "disk,size=1G,${with:+$with,}$key=$value"
			echo "[export disk]"
		else
			set -- -o "$key=$value" 1G
			echo "[$section]"
		fi >"$tmp/one.conf"
		printf '%s\n' $with "$key = $value" >>"$tmp/one.conf"
		"$program" -t "$@" "${alone[@]}" || fail "$* is refused"
		"$program" -t -c "$tmp/one.conf" "${alone[@]}" ||
			fail "[$section] $key = $value is refused"
	done
done
echo "$(cat "$tmp"/help-[a-z]* | wc -l) options and keys"
