# SPDX-License-Identifier: BSD-3-Clause
# Every file says its licence in its first line (its second, where the first
# one names the interpreter).
. ./functions.sh

cd "$abs_top_srcdir" || fail "no source folder"
mapfile -t files < <(
	find src plugins bench tests scripts m4 man conf -type f \( \
		-name '*.[ch]' -o -name '*.sh' -o -name '*.sh.in' -o \
		-name '*.py' -o -name '*.am' -o -name '*.syms' -o \
		-name '*.pod' -o -name 'nbdram-*.m4' \) 2>/dev/null
	ls configure.ac Makefile.am check quickstart .ci/run bench/compare \
		bench/boot-storm bench/clone-costs bench/clone-peers bench/tls-peers bench/plugin-peers
)
count=${#files[@]}
missing=$(awk '
	FNR == 1 { line = 1; if (/^#!/) { line = 2 } }
	FNR == line && !/SPDX-License-Identifier: BSD-3-Clause/ { print FILENAME }
	FNR >= 2 { nextfile }' "${files[@]}")
[ "$count" -gt 10 ] || fail "only $count files found"
[ -z "$missing" ] || fail "these of $count files do not begin with it: $missing"
echo "$count files"
