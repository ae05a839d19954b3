# SPDX-License-Identifier: BSD-3-Clause
# For tests of the client's links, by link-io (see attach/link-io.c). Comes after
# functions.sh.
# shellcheck shell=bash
link_io=$abs_top_builddir/tests/attach/link-io
[ -x "$link_io" ] || skip "$link_io has not been built"

# link PATTERN ARGUMENT...: link-io must succeed, and what it says match (grep -E).
link()
{
	local pattern=$1
	shift
	timeout -k 5 60 "$link_io" "$@" >"$tmp/link" 2>"$tmp/link.err" ||
		fail "exit status $?: $*: $(cat "$tmp/link" "$tmp/link.err")"
	grep -Eq -- "$pattern" "$tmp/link" ||
		fail "no '$pattern': $*: $(cat "$tmp/link")"
}

# no_link ERRNO PATTERN ARGUMENT...: it must fail with this error, and say why in one
# line that matches.
no_link()
{
	local error=$1 pattern=$2 status
	shift 2
	timeout -k 5 60 "$link_io" "$@" >"$tmp/link" 2>"$tmp/link.err"
	status=$?
	cat "$tmp/link" "$tmp/link.err"
	[ "$status" = 1 ] || fail "exit status $status: $*"
	[ "$(wc -l <"$tmp/link")" = 1 ] || fail "not one line: $*"
	grep -Eq -- "^$error: .*($pattern)" "$tmp/link" ||
		fail "no '$error: ...$pattern': $*"
}

# start_liar MODE [ARGUMENT...]: attach/liar.py; sets $liar to its port, $liar_pid.
start_liar()
{
	"$python" "$abs_top_srcdir/tests/attach/liar.py" "$@" \
		>"$tmp/liar" 2>&1 </dev/null &
	liar_pid=$!
	cleanup_fn end_process "$liar_pid"
	wait_for 20 test -s "$tmp/liar" || fail "liar.py does not start"
	liar=$(cat "$tmp/liar")
}

stop_liar() { end_process "$liar_pid"; }
