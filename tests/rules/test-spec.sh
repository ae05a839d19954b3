# SPDX-License-Identifier: BSD-3-Clause
# spec.tsv and the tests are in step: each line is whole, and each test that it
# names is there.
. ./functions.sh

cd "$abs_top_srcdir/tests" || fail "no source folder"
faults=0 count=0 open=0
fault()
{
	echo "spec.tsv:$line: $1"
	faults=$((faults + 1))
}

# place WORD: is there such a test?
place()
{
	local file=${1%%:*} function=${1#*:}
	case $1 in
	server)
		open=$((open + 1))
		;;
	*:*)
		[ -f "$file.c" ] || {
			fault "there is no $file.c"
			return
		}
		grep -q -E "cmocka_unit_test[a-z_]*\($function\b" "$file.c" ||
			fault "$file.c has no test $function"
		;;
	*)
		[ -f "$1" ] || fault "there is no $1"
		;;
	esac
}

line=0
while IFS= read -r text; do
	line=$((line + 1))
	case $text in
	'#'*) continue ;;
	esac
	count=$((count + 1))
	IFS=$'\t' read -r section level demand places rest <<<"$text"
	[ "$section" ] && [ "$demand" ] && [ "$places" ] && [ -z "$rest" ] ||
		fault "not four columns"
	[[ $level =~ ^(MUST|SHOULD)$ ]] || fault "neither MUST nor SHOULD"
	case $places in
	'- '?*) continue ;;
	esac
	for one in $places; do
		place "$one"
	done
done <spec.tsv

repeated=$(grep -v '^#' spec.tsv | cut -f 1,3 | sort | uniq -d)
[ -z "$repeated" ] || fail "twice: $repeated"
[ "$count" -gt 100 ] || fail "only $count lines"
[ "$faults" = 0 ] || fail "$faults wrong"
echo "$count demands, $open of them still to be shown by the server"
