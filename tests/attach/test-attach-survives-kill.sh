# SPDX-License-Identifier: BSD-3-Clause
# An ext4 with writers on it lives through ten kills -9 of nbdramd and restarts
# (scaled), and one upgrade by SIGUSR2, with one connection and with four: no error,
# file system and files as they must be, and no writer waits longer than the server was
# away and two seconds more (one connection), or the timeout and one second more
# (several).
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
requires_command mke2fs e2fsck sha256sum
rounds=$(scaled 10 2)
timeout=10
[ "$rounds" = 10 ] || timeout=3
attach_seconds=600
attach_guest t_rounds="$rounds" t_timeout="$timeout" <<'END'
module drivers/block/nbd.ko

now() { awk '{ print int($1 * 1000) }' /proc/uptime; }

# The writers' longest wait since the last time, in ms.
slowest()
{
	_before=$(wc -l </host/tmp/told)
	kill -USR1 $writer
	until_true 60 told_since "$_before" || die "the writers hang"
	tail -n +$((seen + 1)) /host/tmp/told | awk '
		$2 > most { most = $2 }
		END { print most + 0 }'
	seen=$(wc -l </host/tmp/told)
}
told_since() { [ "$(wc -l </host/tmp/told)" -gt "$1" ]; }

# Until the writers have made another N files.
files() { tail -n 1 /host/tmp/told | cut -d' ' -f1; }
progress()
{
	_files=$(($(files) + $1))
	until_true 120 have_files $_files ||
		die "the writers do not go on: $(tail -n 3 /host/tmp/told; cat /err)"
}
have_files() { kill -USR1 $writer; usleep 100000; [ "$(files)" -ge "$1" ]; }

for connections in 1 4; do
	start_server
	timeout=0
	[ $connections = 1 ] || timeout=$t_timeout
	attach $uri --connections $connections --timeout $timeout --format ext4 \
		--mount /tmp/disk
	seen=0
	: >/host/tmp/told
	host python3 /tmp/writer.py /tmp/disk 3 /tmp/sums >/host/tmp/told 2>/err &
	host_writer=$!
	until_true 30 told_since 0 || die "no writers: $(cat /err)"
	writer=$(pidof python3)
	progress 10
	usual=$(slowest)
	most=0
	round=0
	while [ $round -lt "$t_rounds" ]; do
		round=$((round + 1))
		progress 5
		seen=$(wc -l </host/tmp/told)
		began=$(now)
		kill_server
		usleep $((round % 3 * 500000))
		start_server
		away=$(($(now) - began))
		progress 5
		pause=$(slowest)
		say "$connections connections: away $away ms, longest wait $pause ms"
		limit=$((away + 2000))
		[ $connections = 1 ] || [ $limit -gt $((t_timeout * 1000 + 1000)) ] ||
			limit=$((t_timeout * 1000 + 1000))
		# The guest's one processor has other work too.
		[ "$pause" -le $((limit + 2 * usual)) ] ||
			die "longer than $limit ms and twice the usual $usual ms"
	done
	old=$(pidof nbdramd)
	seen=$(wc -l </host/tmp/told)
	kill -USR2 "$old"
	until_true 20 [ ! -d "/proc/$old" ] || die "no upgrade"
	progress 5
	say "upgraded: longest wait $(slowest) ms"
	kill $writer
	wait $host_writer || die "writers: $(cat /err)"
	say "$(files) files written"
	attached
	umount /host/tmp/disk || die "umount"
	detach
	attach $uri --connections $connections
	host e2fsck -f -n /dev/$dev >/err 2>&1 || die "e2fsck: $(cat /err)"
	mount -t ext4 /dev/$dev /host/tmp/disk || die "mount"
	host sha256sum --quiet -c /tmp/sums || die "files have changed"
	umount /host/tmp/disk
	detach
	kill "$(pidof nbdramd)"
	until_true 10 [ ! "$(pidof nbdramd)" ]
	rm -rf /host/tmp/pool
done
no_errors
nothing_left
END
