# SPDX-License-Identifier: BSD-3-Clause
# The scripts in the top folder refuse what is wrong at once, in one line, with
# exit status 2, and before anything is installed or built.
. ./functions.sh

cd "$abs_top_srcdir" || fail "no source folder"

for script in check quickstart .ci/run scripts/*.sh tests/*.sh tests/*.sh.in \
		tests/*/*.sh; do
	bash -n "$script" || fail "$script: syntax"
done
for script in bench/*-peers bench/boot-storm bench/clone-costs bench/compare bench/ram-table bench/measure.py; do
	"$python" -c 'import sys; compile(open(sys.argv[1]).read(), *sys.argv[1:])' \
		"$script" exec || fail "$script: syntax"
done

# refused PATTERN COMMAND...
refused()
{
	local pattern=$1 status
	shift
	timeout 20 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	cat "$tmp/out" "$tmp/err"
	[ "$status" = 2 ] || fail "exit status $status: $*"
	[ ! -s "$tmp/out" ] || fail "something on standard output: $*"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line: $*"
	grep -q -- "$pattern" "$tmp/err" || fail "no '$pattern': $*"
}

for size in '' 0 0G 00 -1 +1 1.5G 1GB 1GiB ten 1e9 0x10 '1 G' ' 1G' '1G ' \
		9223372036854775808 8E 16E 8388608T 18446744073709551617 \
		99999999999999999999999999; do
	refused "^quickstart: $size" bash ./quickstart "$size"
done
refused 'no such option' bash ./quickstart --size=1G
refused 'one size' bash ./quickstart 1G 2G
refused 'no such stage' bash ./check everything

for script in check quickstart; do
	bash "./$script" --help >"$tmp/out" 2>&1 </dev/null ||
		fail "./$script --help"
	grep -q "^usage: ./$script" "$tmp/out" || fail "./$script --help: no usage"
	[ -x "$script" ] || fail "$script cannot be executed"
done
