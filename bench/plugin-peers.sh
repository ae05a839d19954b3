#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The plugin beside nbdkit's own memory plugin: processor time of the server for
# each request and each GiB, in interleaved pairs of runs.
#
#	plugin-peers.sh [OPTION]... [PLUGIN.so]
#
#	--quick		5 short pairs: half a minute, for a first look
#	--pairs N	so many pairs (default 11)
#	--secs N	length of one run (default 2)
#	--unix		over a Unix socket (default: TCP on 127.0.0.1)
#	--strict	exit 1 if a median is beyond its target
#
# To be run in the folder bench of the build, where `load`, the load generator,
# is (make load), and ../plugins/ramplugin.so, unless another one is named.
#
#	touched memory, plugin / allocator=malloc: 4 KiB random reads and writes
#	at depth 64, streams of 1 MiB at depth 16
#	first write of a fresh disk, plugin / allocator=sparse: a stream of 1 MiB;
#	"all" is the whole life of the server: start, filling the reserve of warm
#	memory, the stream, and filling it again
#
# Printed are medians; the ratio is the median of the pairs' ratios, with its
# 90 % interval (by order statistics, no shape of distribution supposed).
set -u
pairs=11
secs=2
disk=1G
used=768M
fresh=2G
transport=tcp
strict=
plugin=

while [ $# -gt 0 ]; do
	case $1 in
	--quick)
		pairs=5 secs=0.7 fresh=1G
		;;
	--pairs)
		pairs=$2
		shift
		;;
	--secs)
		secs=$2
		shift
		;;
	--unix) transport=unix ;;
	--strict) strict=yes ;;
	--help | -h)
		sed -n '3,/^set -u/s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	-*)
		echo "$0: unknown option $1; see --help" >&2
		exit 2
		;;
	*) plugin=$1 ;;
	esac
	shift
done
plugin=$(realpath "${plugin:-../plugins/ramplugin.so}")
if [ ! -f "$plugin" ]; then
	echo "$0: no plugin $plugin; build it, or name it" >&2
	exit 2
fi

tmp=$(mktemp -d) || exit 1
pids=()
congestion=/proc/sys/net/ipv4/tcp_congestion_control
old_congestion=
cleanup()
{
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null
	done
	wait
	[ ! "$old_congestion" ] || echo "$old_congestion" >"$congestion"
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# One measurement at a time on one machine.
lock=${BENCH_LOCK:-/tmp/bench.lock}
if exec 8>>"$lock"; then
	flock -n 8 || { echo "waiting for $lock" >&2; flock 8; }
fi

# Loopback is no long way: without this, what is measured is pacing.
if [ "$transport" = tcp ] && [ -w "$congestion" ] &&
   [ "$(cat "$congestion")" != cubic ]; then
	old_congestion=$(cat "$congestion")
	echo cubic >"$congestion" 2>/dev/null || old_congestion=
fi

load=$PWD/load
if [ ! -x "$load" ]; then
	echo "$0: no ./load here; in the folder bench of the build: make load" >&2
	exit 2
fi

# start NAME ARGUMENT...: a server; sets pid_NAME and uri_NAME.
start()
{
	local name=$1 where uri pid i
	shift
	rm -f "$tmp/$name.pid"
	if [ "$transport" = tcp ]; then
		# A port that the kernel has just called free.
		where=$(perl -MIO::Socket::INET -e '
			print IO::Socket::INET->new(Listen => 1,
				LocalAddr => "127.0.0.1")->sockport')
		uri=nbd://127.0.0.1:$where
		where="-i 127.0.0.1 -p $where"
	else
		uri="nbd+unix:///?socket=$tmp/$name.sock"
		rm -f "$tmp/$name.sock"
		where="-U $tmp/$name.sock"
	fi
	# shellcheck disable=SC2086
	nbdkit -f -P "$tmp/$name.pid" $where "$@" 8>&- &
	pid=$!
	pids+=("$pid")
	for ((i = 0; i < 500; i++)); do
		[ ! -s "$tmp/$name.pid" ] || break
		kill -0 "$pid" || exit 1
		sleep 0.02
	done
	eval "pid_$name=$pid uri_$name=\$uri"
}

stop()
{
	local pid
	eval "pid=\$pid_$1"
	kill "$pid"
	wait "$pid"
}

# one WHAT NAME OPTION...: one run; its cost is added to the file WHAT.NAME: ns
# for a request and s for a GiB.
one()
{
	local what=$1 name=$2 uri pid
	shift 2
	eval "uri=\$uri_$name pid=\$pid_$name"
	"$load" -p "$pid" "$@" "$uri" 8>&- >"$tmp/line" || exit 1
	cut -f 4,5 "$tmp/line" >>"$tmp/$what.$name"
	awk '{ print $1 / $2, $3 / $2 / 1e6 }' "$tmp/line" \
		>>"$tmp/$what.$name.rate"
}

# cpu PID: seconds of processor time so far, all threads, the ended ones too.
cpu()
{
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, "")
		print ($12 + $13) / hz }' "/proc/$1/stat"
}

# pair N WHAT FIRST SECOND OPTION...: both, in alternating order.
pair()
{
	local n=$1 what=$2 first=$3 second=$4
	shift 4
	if [ $((n % 2)) = 0 ]; then
		set -- "$second" "$first" "$@"
	else
		set -- "$first" "$second" "$@"
	fi
	one "$what" "$1" "${@:3}"
	one "$what" "$2" "${@:3}"
}

echo "over $transport, $pairs pairs of ${secs} s; congestion control" \
	"$(cat "$congestion"); $(nproc) processors; load $(cut -d' ' -f1-3 /proc/loadavg)"

start ram "$plugin" "$disk" memory=2G
start malloc memory "$disk" allocator=malloc
for name in ram malloc; do
	eval "uri=\$uri_$name"
	"$load" -m write -b 1M -d 16 -r "$used" -t 0 "$uri" >/dev/null
done
for ((n = 1; n <= pairs; n++)); do
	pair "$n" randread ram malloc \
		-m randread -b 4K -d 64 -r "$used" -t "$secs"
	pair "$n" randwrite ram malloc \
		-m randwrite -b 4K -d 64 -r "$used" -t "$secs"
	pair "$n" read ram malloc -m read -b 1M -d 16 -r "$used" -t "$secs"
	pair "$n" write ram malloc -m write -b 1M -d 16 -r "$used" -t "$secs"
done
stop ram
stop malloc

# settled PID: its processor time has not moved for a quarter of a second.
settled()
{
	local before=
	while [ "$before" != "$(cpu "$1")" ]; do
		before=$(cpu "$1")
		sleep 0.25
	done
}

for ((n = 1; n <= pairs; n++)); do
	order="ram sparse"
	[ $((n % 2)) = 1 ] || order="sparse ram"
	for name in $order; do
		case $name in
		ram) start ram "$plugin" "$fresh" memory=4G ;;
		sparse) start sparse memory "$fresh" ;;
		esac
		eval "pid=\$pid_$name"
		settled "$pid"
		one first "$name" -m write -b 1M -d 16 -t 0
		settled "$pid"
		gib=$((${fresh%G}))
		awk -v s="$(cpu "$pid")" -v gib="$gib" \
			'BEGIN { print 0, s / gib }' >>"$tmp/all.$name"
		stop "$name"
	done
done

# report WHAT TEXT PEER COLUMN UNIT TARGET
report()
{
	paste "$tmp/$1.ram" "$tmp/$1.$3" | awk -v text="$2" -v peer="$3" \
		-v column="$4" -v unit="$5" -v target="$6" '
	function sorted(a, n,	i, j, x) {
		for (i = 2; i <= n; i++) {
			x = a[i]
			for (j = i - 1; j >= 1 && a[j] > x; j--)
				a[j + 1] = a[j]
			a[j + 1] = x
		}
	}
	function median(a, n) {
		return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
	}
	{
		ours[NR] = $column
		theirs[NR] = $(column + 2)
		ratio[NR] = $column / $(column + 2)
	}
	END {
		sorted(ours, NR)
		sorted(theirs, NR)
		sorted(ratio, NR)
		# The widest pair of order statistics that still leaves out less
		# than 10 %: both tails of a fair coin, thrown NR times.
		p = 0.5 ^ NR
		tail = 0
		for (k = 0; k < NR / 2; k++) {
			tail += p
			if (2 * tail > 0.1)
				break
			p = p * (NR - k) / (k + 1)
		}
		low = k < 1 ? 1 : k
		m = median(ratio, NR)
		printf "%-24s %9.3f %-8s %9.3f %-8s %5.3f  %5.3f - %5.3f  %5.2f  %s\n",
			text, median(ours, NR), unit, median(theirs, NR), peer,
			m, ratio[low], ratio[NR + 1 - low], target,
			m <= target ? "met" : "MISSED"
	}'
}

for what in randread randwrite; do
	# In microseconds.
	for name in ram malloc; do
		awk '{ print $1 / 1000, $2 }' "$tmp/$what.$name" >"$tmp/x" &&
			mv "$tmp/x" "$tmp/$what.$name"
	done
done
{
	printf '%-24s %-18s %-18s %s\n' "server processor time" plugin peer \
		"ratio, 90 % interval, target"
	report randread "4 KiB random reads" malloc 1 us 1.15
	report randwrite "4 KiB random writes" malloc 1 us 1.15
	report read "1 MiB reads" malloc 2 s/GiB 1.15
	report write "1 MiB writes" malloc 2 s/GiB 1.15
	report first "first write" sparse 2 s/GiB 0.60
	report all "first write, all" sparse 2 s/GiB 0.60
} | tee "$tmp/report"
echo
for what in randread randwrite read write first; do
	for file in "$tmp/$what."*.rate; do
		sort -n "$file" | awk -v what="$(basename "${file%.rate}")" '
			{ r[NR] = $1; b[NR] = $2 }
			END { n = int((NR + 1) / 2)
			printf "%-20s %8.0f requests/s %8.0f MB/s\n", what, r[n], b[n] }'
	done
done
if [ "$strict" ] && grep -q MISSED "$tmp/report"; then
	exit 1
fi
exit 0
