# SPDX-License-Identifier: BSD-3-Clause
# An ext4 with writers on it lives through ten kills -9 of nbdramd and restarts
# (scaled), and one upgrade by SIGUSR2, with one connection and with four, in clear and
# by the kernel's TLS (a short run: one of these with one, the other with four): no
# error, file system and files as they must be, and no writer waits longer than the
# server was away and two seconds more (one connection), or the timeout and one second
# more (several).
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
. "$abs_top_srcdir/tests/tls.sh"
requires_command mke2fs e2fsck sha256sum
requires_guest net/tls/tls.ko crypto/gcm.ko
tls_init
cp -r "$tls" "$guest_root/files/tls"
cp "$tls_client"/client-*.pem "$guest_root/files/tls/"
rounds=$(scaled 10 2)
timeout=10
[ "$rounds" = 10 ] || timeout=3
attach_seconds=900
runs='plain:1 tls:4'
[ $((RANDOM % 2)) = 0 ] || runs='tls:1 plain:4'
[ "$rounds" != 10 ] || runs='plain:1 tls:1 plain:4 tls:4'
echo "$runs"
attach_guest t_rounds="$rounds" t_timeout="$timeout" t_runs="${runs// /,}" <<'END'
module drivers/block/nbd.ko
for name in net/tls/tls crypto/gf128mul crypto/ghash-generic crypto/ctr crypto/gcm \
		crypto/seqiv; do
	module $name.ko
done
cp -r /files/tls /host/tmp/tls
tls_uri="nbds://127.0.0.1:$port/scratch?tls-certificates=/tmp/tls"
plain_uri=$uri
serve() { start_server -o tls=on -o tls-dir=/tmp/tls; }

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

for run in $(echo "$t_runs" | tr , ' '); do
	connections=${run#*:}
	eval "uri=\$${run%:*}_uri"
	serve
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
		serve
		away=$(($(now) - began))
		progress 5
		pause=$(slowest)
		say "$run: away $away ms, longest wait $pause ms"
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
# By the kernel, and not by a relay beside it.
case $t_runs in
*tls*)
	[ "$(sed -n 's/^TlsRxSw[ 	]*//p' /proc/net/tls_stat)" -ge 3 ] ||
		die "no kernel TLS: $(cat /proc/net/tls_stat)"
	;;
esac
END
