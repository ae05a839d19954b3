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
wrong=()
for file in "${files[@]}"; do
	"$clang_format" --style=file --dry-run -Werror "$file" 2>/dev/null ||
		wrong+=("$file")
done
[ "${#wrong[@]}" = 0 ] || fail "run: clang-format -i ${wrong[*]}"
echo "${#files[@]} files"
