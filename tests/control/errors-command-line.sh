#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is wrong on nbdramctl's command line: one line on standard error, exit status
# 2, and nothing is asked of anybody.
. ./functions.sh

[ -x "$nbdramctl" ] || skip "nbdramctl has not been built"

# refused PATTERN ARGUMENT...
refused()
{
	local pattern=$1 status
	shift
	timeout 20 "$nbdramctl" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	cat "$tmp/err"
	[ "$status" = 2 ] || fail "exit status $status: $*"
	[ ! -s "$tmp/out" ] || fail "something on standard output: $*"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line: $*"
	grep -q -- "$pattern" "$tmp/err" || fail "no '$pattern': $*"
}
s=$tmp/nobody
refused 'which command'
refused 'which command' -s "$s"
refused 'is it list' -s "$s" lst
refused 'no such command; see' -s "$s" frobnicate
refused 'no such command' -s "$s" "$(printf '\033[31m')"
refused 'is too much; usage: nbdramctl list$' -s "$s" list a
refused 'something is missing' -s "$s" create
refused 'is no KEY=VALUE' -s "$s" create a size
refused 'something is missing' -s "$s" clone a
refused 'is too much' -s "$s" delete a b
refused 'no such option of list' -s "$s" list --force
refused 'no such option of delete' -s "$s" delete --froce a
refused 'no such option' -s "$s" --force delete a
refused 'needs the path' list -s
refused 'is too much' -s "$s" resize a 1G 2G

# A socket that cannot be is a failure, not a mistake of this kind.
for path in '' "$(printf 'x%.0s' {1..200})" "$tmp/nobody"; do
	"$nbdramctl" -s "$path" list >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] || fail "exit status"
	cat "$tmp/err"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line"
done
