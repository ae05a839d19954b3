# SPDX-License-Identifier: BSD-3-Clause
# All C is as clang-format 14 with our .clang-format would have it.
. ./functions.sh

clang_format=$(command -v clang-format-14 || command -v clang-format) ||
	skip "clang-format is missing"
case $("$clang_format" --version) in
*' version 14.'*) ;;
*) skip "clang-format is not version 14, others differ in details" ;;
esac

cd "$abs_top_srcdir" || fail "no source folder"
[ -f .clang-format ] || fail ".clang-format is missing"
mapfile -t files < <(find src plugins bench tests -name '*.[ch]' | sort)
[ "${#files[@]}" -gt 0 ] || fail "no files"
# Many at a time: starting it takes longer than most of the files.
printf '%s\0' "${files[@]}" |
	xargs -0 -n 50 -P 2 "$clang_format" --style=file --dry-run -Werror \
		2>"$tmp/said"
statuses=("${PIPESTATUS[@]}")
mapfile -t wrong < <(sed -n 's/^\([^:]*\.[ch]\):[0-9].*/\1/p' "$tmp/said" | sort -u)
[ "${#wrong[@]}" = 0 ] || fail "run: clang-format -i ${wrong[*]}"
[ "${statuses[1]}" = 0 ] || fail "$clang_format: $(head -n 3 "$tmp/said")"
echo "${#files[@]} files"
