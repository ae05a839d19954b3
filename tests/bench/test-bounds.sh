#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a request costs nbdramd, in instructions and in system calls, is not more than
# bench/bounds says: counts, so that a busy machine does not matter.
#
# callgrind counts both, of the whole process. Server and client have one processor
# between them, so that how many requests come at a time depends on nothing else: one
# works until it must wait for the other. What noise is left only adds, so a row is
# within its bounds when it has been once, in a few tries.
#
# Also run by `make bench-check`; NBDRAM_BOUNDS=new writes bench/bounds anew.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

bounds=$abs_top_srcdir/bench/bounds
load=$abs_top_builddir/bench/load
more_instructions=5 more_calls=10 # per cent
tries=5

[ -z "$sanitizers" ] || skip "sanitizers add instructions of their own"
[ -x "$load" ] || skip "$load has not been built"
requires_command valgrind vgdb taskset

# What the compiler does is most of it.
compiler=$($cc -dumpversion)
case $($cc --version) in
*clang*) compiler=clang-${compiler%%.*} ;;
*) compiler=gcc-${compiler%%.*} ;;
esac
compiled="$compiler $(uname -m) $cflags"
theirs=$(sed -n 's/^compiled //p' "$bounds")
if [ "$compiled" != "$theirs" ] && [ "${NBDRAM_BOUNDS:-}" != new ]; then
	[ "${NBDRAM_BOUNDS:-}" ] ||
		skip "bounds are for '$theirs', this is '$compiled'"
	echo "bounds are for '$theirs', this is '$compiled': they may not fit" >&2
fi

# These change what malloc does.
unset MALLOC_PERTURB_ GLIBC_TUNABLES
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
export TMPDIR=$tmp
# Valgrind ends in its own time.
# shellcheck disable=SC2034
end_seconds=60
start_nbdramd --both --with taskset -c "$cpu" valgrind --tool=callgrind --quiet \
	--collect-systime=usec --callgrind-out-file="$tmp/profile" \
	--vgdb-prefix="$tmp/vgdb" -- -m 640M -o workers=1 256M

# callgrind COMMAND
callgrind()
{
	vgdb --vgdb-prefix="$tmp/vgdb" --pid="$pid" "$@" >"$tmp/told" 2>&1
}
callgrind zero || skip "vgdb does not reach valgrind: $(tail -n 1 "$tmp/told")"

# run ADDRESS MODE BLOCK DEPTH: over the disk once; $tmp/line has what load tells.
run()
{
	taskset -c "$cpu" "$load" -m "$2" -b "$3" -d "$4" -t 0 "$1" \
		>"$tmp/line" || fail "load $*"
}

# count ADDRESS MODE BLOCK DEPTH: set $instructions and $calls, for a request.
count()
{
	if [ "$2" = rewrite ]; then
		run "$1" randwrite 4K 64
		set -- "$1" write "$3" "$4"
	fi
	rm -f "$tmp"/profile*
	callgrind zero || fail "vgdb: $(cat "$tmp/told")"
	run "$@"
	callgrind dump || fail "vgdb: $(cat "$tmp/told")"
	read -r instructions calls < <(awk -v requests="$(cut -f 1 "$tmp/line")" '
		/^events:/ { for (i = 2; i <= NF; i++) column[$i] = i }
		/^totals:/ { print $column["Ir"] / requests,
				$column["sysCount"] / requests }' \
		"$tmp"/profile*)
	[ "${calls:-}" ] || fail "callgrind has counted nothing"
}

# more A B: is A more than B?
more()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'
}

# with VALUE PERCENT: so much more.
with()
{
	awk -v v="$1" -v p="$2" 'BEGIN { printf "%.4f", v * (1 + p / 100) }'
}

# least ADDRESS MODE BLOCK DEPTH MOST-INSTRUCTIONS MOST-CALLS: the least of each, of
# as many tries as it takes to be within these.
least()
{
	local most_instructions=$5 most_calls=$6 n few_instructions few_calls
	for ((n = 1; n <= tries; n++)); do
		count "${@:1:4}"
		if [ "$n" = 1 ] || more "$few_instructions" "$instructions"; then
			few_instructions=$instructions
		fi
		if [ "$n" = 1 ] || more "$few_calls" "$calls"; then
			few_calls=$calls
		fi
		more "$few_instructions" "$most_instructions" ||
			more "$few_calls" "$most_calls" || break
	done
	instructions=$few_instructions calls=$few_calls
}

# middle ADDRESS MODE BLOCK DEPTH: the median of each: not what is met with once only.
middle()
{
	local n
	for ((n = 0; n < tries; n++)); do
		count "$@"
		echo "$instructions $calls"
	done >"$tmp/each"
	instructions=$(cut -d ' ' -f 1 "$tmp/each" | sort -g | sed -n "$((tries / 2 + 1))p")
	calls=$(cut -d ' ' -f 2 "$tmp/each" | sort -g | sed -n "$((tries / 2 + 1))p")
}

# The rows, as bench/bounds has them. Streams first: random writes scatter.
rows='unix write 1M 8
unix read 1M 8
tcp write 1M 8
tcp read 1M 8
unix randread 4K 64
unix randwrite 4K 64
tcp randread 4K 64
tcp randwrite 4K 64
tcp rewrite 1M 8'

# row WHERE WHAT BYTES DEPTH: the arguments of count().
row()
{
	address=unix:$socket
	[ "$1" = unix ] || address=127.0.0.1:$port
	set_row=("$address" "$2" "$3" "$4")
}

write_bounds()
{
	local where what bytes depth
	grep '^#' "$bounds" >"$tmp/new"
	echo "compiled $compiled" >>"$tmp/new"
	while read -r where what bytes depth; do
		row "$where" "$what" "$bytes" "$depth"
		middle "${set_row[@]}"
		printf '%-4s  %-9s  %2s  %2s  %10.1f  %8.4f\n' "$where" "$what" \
			"$bytes" "$depth" "$instructions" "$calls" |
			tee -a "$tmp/new"
	done <<<"$rows"
	cp "$tmp/new" "$bounds" || fail "cannot write $bounds"
}

# over NAME WHAT COUNT MOST PERCENT: complain if it is.
over()
{
	more "$3" "$4" || return 0
	echo "$1: $3 $2 a request, at most $4 (bench/bounds and $5 %)" >>"$tmp/over"
}

check_bounds()
{
	local where what bytes depth old_instructions old_calls most_instructions
	local most_calls form='%-4s  %-9s  %-5s  %5s  %12s  %8s  %8s  %8s\n'
	# shellcheck disable=SC2059
	printf "$form" where what bytes depth instructions "at most" calls "at most"
	while read -r where what bytes depth; do
		read -r old_instructions old_calls < <(awk \
			-v row="$where $what $bytes $depth" '
			$1 " " $2 " " $3 " " $4 == row { print $5, $6 }' "$bounds")
		[ "${old_calls:-}" ] ||
			fail "bench/bounds has no row '$where $what $bytes $depth'"
		most_instructions=$(with "$old_instructions" $more_instructions)
		most_calls=$(with "$old_calls" $more_calls)
		row "$where" "$what" "$bytes" "$depth"
		least "${set_row[@]}" "$most_instructions" "$most_calls"
		# shellcheck disable=SC2059
		printf "$form" "$where" "$what" "$bytes" "$depth" \
			"$(printf %.1f "$instructions")" \
			"$(printf %.1f "$most_instructions")" \
			"$(printf %.4f "$calls")" "$(printf %.4f "$most_calls")"
		over "$where $what $bytes" instructions "$instructions" \
			"$most_instructions" $more_instructions
		over "$where $what $bytes" "system calls" "$calls" "$most_calls" \
			$more_calls
		# Else the next change could give it away again.
		! more "$(with "$old_instructions" -10)" "$instructions" &&
			! more "$(with "$old_calls" -15)" "$calls" ||
			echo "  a good deal less than in bench/bounds: renew it"
	done <<<"$rows"
}

# What is new at first is taken, and then used again and again.
for i in 1 2 3; do
	run "unix:$socket" write 1M 8
done
if [ "${NBDRAM_BOUNDS:-}" = new ]; then
	write_bounds
else
	check_bounds
fi
stop_nbdramd
if [ -s "$tmp/over" ]; then
	cat "$tmp/over" >&2
	fail "over its bounds: see what has become dearer (valgrind" \
		"--tool=callgrind, strace -c -f), or make bench-check BOUNDS=new" \
		"if it is worth it"
fi
exit 0
