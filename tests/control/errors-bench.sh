#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdramctl bench that cannot go on: one line that says why, status 1, and 2 for the
# command line; what was measured until then stays.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

requires_command jq
! "$nbdramctl" bench 2>&1 | grep -q 'built without libnbd' ||
	skip "built without libnbd"

# refused STATUS PATTERN ARGUMENT...: with one line.
refused()
{
	local status=$1 pattern=$2 got
	shift 2
	timeout -k 5 60 "$nbdramctl" bench "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	cat "$tmp/err"
	[ "$got" = "$status" ] || fail "exit status $got: $*"
	[ ! -s "$tmp/out" ] || fail "something on standard output: $*"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line: $*"
	grep -q -- "^nbdramctl: .*$pattern" "$tmp/err" || fail "no '$pattern': $*"
}

refused 2 'which disk'
refused 2 'is too much' nbd://a/ nbd://b/
refused 2 'no such option' nbd://a/ --destory
refused 2 'is no NBD URI' http://localhost/
refused 2 'is no NBD URI' scratch
refused 2 'is no NBD URI' ''
refused 2 'is no NBD URI' -- --destroy
refused 2 'number of seconds' nbd://a/ --secs
for secs in 0 0.005 3601 1e3 -1 x 1x 1.2.3 . '' 99999999999999999999; do
	refused 2 'seconds\|0.01 to 3600' nbd://a/ --secs="$secs"
done

# Nobody there; nothing of that name.
free_socket
refused 1 'socket=.*nobody.*No such file' "nbd+unix:///?socket=$tmp/nobody"
free_port
refused 1 "127.0.0.1:$port/.*[Cc]onnection refused" "nbd://127.0.0.1:$port/"
refused 1 'nbd://\[::1' 'nbd://[::1'
start_nbdramd --both -m 64M -o full=error -e a,size=16M,quota=2M,default \
	-e ro,size=1M,readonly
refused 1 "nothing.*export\|nothing.*server replied" "${uri/\?/nothing?}"
refused 1 'TLS' "nbds://127.0.0.1:$port/"
refused 1 'the export is read-only' --destroy "${uri/\?/ro?}"

# stays COUNT: so many rows of the table.
stays()
{
	[ "$(grep -c -E '^(read|write) (1M|4K) ' "$tmp/out")" = "$1" ] ||
		fail "not $1 rows: $(cat "$tmp/out")"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line: $(cat "$tmp/err")"
	cat "$tmp/err"
}

# The server answers a write with an error: its quota is used up.
"$nbdramctl" bench "$uri" --destroy --secs 0.1 >"$tmp/out" 2>"$tmp/err"
[ $? = 1 ] || fail "exit status"
stays 0
grep -q 'fill 1M stream, depth 8: .*offset [0-9]*: No space left' "$tmp/err" ||
	fail "$(cat "$tmp/err")"
# begin ARGUMENT...: in the background; $bench is its process.
begin()
{
	"$nbdramctl" bench "$uri" --secs 1 "$@" >"$tmp/out" 2>"$tmp/err" &
	bench=$!
	cleanup_fn end_process "$bench"
}

# ended: it has, with status 1.
ended()
{
	wait "$bench"
	[ $? = 1 ] || fail "exit status in the midst"
}

# What was measured stays when it is interrupted, or the server goes.
begin
wait_for 60 grep -q '^read' "$tmp/out" || fail "no first row"
kill -INT "$bench"
ended
stays 1
grep -q 'interrupted: 1 of 4 rows' "$tmp/err" || fail "does not say so"
begin --json
# Which row it is by then does not matter.
reads()
{
	ctl clients --json | jq -e '.clients[0].requests > 0' >"$tmp/none"
}
wait_for 60 reads || fail "nothing is read"
kill -TERM "$bench"
ended
jq -e '.complete == false and (.rows | length) < 4' "$tmp/out" ||
	fail "as JSON: $(cat "$tmp/out")"
begin
wait_for 60 grep -q '^read' "$tmp/out" || fail "no first row"
kill_nbdramd
ended
stays 1
grep -q 'read 1M stream, depth 8: ' "$tmp/err" || fail "does not say where"

# TLS that is wanted there, or cannot be had here.
if command -v openssl >/dev/null; then
	. "$abs_top_srcdir/tests/tls.sh"
	tls_init
	start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" 1M
	refused 1 'requires TLS' "nbd://127.0.0.1:$port/"
	refused 1 'no-file' "$(psk_uri alice "$tmp/no-file")"
	stop_nbdramd
fi

# Nothing to measure.
if command -v "$nbdkit" >/dev/null; then
	free_socket
	"${nbdkit_command[@]}" -f -P "$tmp/nbdkit.pid" -U "$socket" memory 0 &
	cleanup_fn end_process $!
	wait_for 60 test -s "$tmp/nbdkit.pid" || fail "nbdkit"
	refused 1 'has 0 bytes' "nbd+unix:///?socket=$socket"
fi
exit 0
