# SPDX-License-Identifier: BSD-3-Clause
# Every file says its licence in its first line (its second, where the first
# one names the interpreter).
. ./functions.sh

cd "$abs_top_srcdir" || fail "no source folder"
missing=0 count=0
while IFS= read -r file; do
	count=$((count + 1))
	if ! sed -n -e '1{/^#!/!{p;q}}' -e '2{p;q}' "$file" |
		grep -q 'SPDX-License-Identifier: BSD-3-Clause'; then
		echo "$file"
		missing=$((missing + 1))
	fi
done < <(
	find src plugins bench tests scripts m4 man conf -type f \( \
		-name '*.[ch]' -o -name '*.sh' -o -name '*.sh.in' -o \
		-name '*.py' -o -name '*.am' -o -name '*.syms' -o \
		-name '*.pod' -o -name 'nbdram-*.m4' \) 2>/dev/null
	ls configure.ac Makefile.am check quickstart .ci/run bench/compare \
		bench/clone-peers bench/tls-peers bench/plugin-peers
)
[ "$count" -gt 10 ] || fail "only $count files found"
[ "$missing" = 0 ] || fail "$missing of $count files do not begin with it"
echo "$count files"
