#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hundred reloads (scaled), good and bad mixed, of every kind, while several
# clients write and verify with fio: no error, what was written is there, and
# neither descriptors nor memory grow.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"
requires_command fio
requires eval 'fio --enghelp | grep -qw nbd'

rounds=$(scaled 200 20)
# config SIZE_OF_GROWING LINE...
config()
{
	printf '%s\n' "[pool]" "size = 256M" \
		"[export a]" "size = 16M" "default = yes" \
		"[export b]" "size = 16M" "max-connections = 8" \
		"[export grows]" "size = $1" "${@:2}" >"$conf"
}

config 16M
start_nbdramd -c "$conf"
# So that it cannot be made smaller, ever.
peer <<'END' || fail "the first write"
Peer.open(name="grows").write((16 << 20) - 4096, bytes([1]) * 4096)
END
clients=()
for name in a b grows; do
	# In nbd's URI the name stands before the question mark. The output is
	# the client's own, so that the test does not wait for its pipe.
	fio --name="$name" --ioengine=nbd --uri="nbd+unix:///$name?socket=$socket" \
		--rw=randrw --bsrange=4k-64k --size=16M --iodepth=8 --verify=crc32c \
		--verify_fatal=1 --verify_backlog=256 --time_based --runtime=600 \
		--randseed="$NBDRAM_TEST_SEED" >"$tmp/fio-$name" 2>&1 &
	clients+=($!)
	cleanup_fn kill -KILL $!
done
# Each connects once to see the size, and once to work.
opened()
{
	[ "$(grep -c ': opened "' "$log")" -ge 7 ]
}
wait_for 60 opened || fail "fio does not begin"

# now: descriptors and memory (KiB) of the server now
now()
{
	echo "$(ls "/proc/$pid/fd" | wc -l)" \
		"$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status")"
}

good=0 bad=0
for ((i = 0; i < rounds; i++)); do
	case $((RANDOM % 10)) in
	0) config 16M ;;
	1) config "$((17 + i))M" ;;
	2) config "$((17 + i))M" "[export extra$((RANDOM % 4))]" "size = 1M" ;;
	3) config "$((17 + i))M" "[server]" "max-unfinished = $((10 + i))" ;;
	4) config "$((17 + i))M" "readonly = yes" "[export thick]" "size = 4M" \
		"alloc = fixed" ;;
	5) config 1M "[export extra9]" "size = 1M" ;;
	6) config 64M "[export never]" "size = 2G" "alloc = fixed" ;;
	7) config 64M "redonly = yes" ;;
	8) head -c 3000 /dev/urandom >"$conf" ;;
	9) printf '[pool]\nsize = 256M\n' >"$conf" ;;
	esac
	reload >"$tmp/said"
	if grep -q 'reload: done' "$tmp/said"; then
		good=$((good + 1))
	else
		bad=$((bad + 1))
	fi
	[ "$i" != $((rounds / 4)) ] || read -r fds kib <<<"$(now)"
done
echo "$good done, $bad refused"
[ "$good" -gt 0 ] && [ "$bad" -gt 0 ] || fail "not a mixture"
read -r fds_now kib_now <<<"$(now)"
echo "descriptors: $fds, then $fds_now; KiB: $kib, then $kib_now"
[ "$fds_now" -le "$fds" ] || fail "descriptors have leaked"
[ "$sanitizers" ] || [ "$kib_now" -le $((kib + 2048)) ] ||
	fail "memory has leaked"

# They are still at it, and have never seen anything else than they wrote.
for client in "${clients[@]}"; do
	kill -0 "$client" 2>/dev/null || {
		cat "$tmp"/fio-*
		fail "a fio has ended"
	}
	kill -INT "$client"
done
for client in "${clients[@]}"; do
	wait "$client"
done
for name in a b grows; do
	cat "$tmp/fio-$name"
	grep -q 'err= 0' "$tmp/fio-$name" || fail "fio $name has seen an error"
	! grep -Eq 'verify:|bad magic|error=' "$tmp/fio-$name" ||
		fail "fio $name has read something else"
done
config 400M
reload_good "done"
