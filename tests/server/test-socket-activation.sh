#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sockets that a service manager has opened and hands over, several at once, of
# both kinds; their files are not ours to remove. What is no listening stream
# socket is refused, and one that other hosts reach as well, unless told.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

# activate KINDS COMMAND...: run the command with sockets from 3 on: t, TCP;
# p, TCP at all addresses; u, Unix; d, datagrams; n, a stream that does not listen; f, a file.
cat >"$tmp/activate" <<'END'
use Socket;
use POSIX ();
use Fcntl;
my ($folder, $kinds) = splice(@ARGV, 0, 2);
my @fds;
open(my $info, ">", "$folder/info") or die $!;
for my $kind (split(//, $kinds)) {
	my $s;
	if ($kind =~ /[tnp]/) {
		socket($s, PF_INET, SOCK_STREAM, 0) or die $!;
		bind($s, sockaddr_in(0, $kind eq "p" ? INADDR_ANY
						     : INADDR_LOOPBACK))
			or die $!;
		listen($s, 128) or die $! if $kind ne "n";
		my ($port) = sockaddr_in(getsockname($s));
		print $info "nbd://127.0.0.1:$port\n";
	} elsif ($kind eq "u") {
		socket($s, PF_UNIX, SOCK_STREAM, 0) or die $!;
		bind($s, sockaddr_un("$folder/activated")) or die $!;
		listen($s, 128) or die $!;
		print $info "nbd+unix:///?socket=$folder/activated\n";
	} elsif ($kind eq "d") {
		socket($s, PF_INET, SOCK_DGRAM, 0) or die $!;
	} else {
		open($s, "<", "/dev/null") or die $!;
	}
	# Out of the way of the numbers that are wanted.
	push(@fds, POSIX::fcntl(fileno($s), F_DUPFD, 50) // die $!);
	push(@keep, $s);
}
close($info);
my $n = 3;
POSIX::dup2($_, $n++) // die $! for @fds;
POSIX::close($_) for @fds;
$ENV{LISTEN_FDS} = @fds;
$ENV{LISTEN_PID} = $$;
exec(@ARGV) or die "$ARGV[0]: $!";
END
sed -i 's/POSIX::fcntl(fileno($s), F_DUPFD, 50) \/\/ die $!/fcntl($s, F_DUPFD, 50) || die $!/' \
	"$tmp/activate"

_hear "$tmp/notify"
NOTIFY_SOCKET=$tmp/notify "$perl" "$tmp/activate" "$tmp" tut \
	"$nbdramd" -m 64M -s "$tmp/control" 1M >"$tmp/log" 2>&1 </dev/null &
pid=$!
_nbdramd_logs[$pid]=$tmp/log
cleanup_fn _end_nbdramd "$pid"
read -r -t 60 -u "$hear_fd" line || fail "it does not start: $(cat "$tmp/log")"
[ "$(wc -l <"$tmp/info")" = 3 ] || fail "not three sockets"
while read -r at; do
	uri=$at peer <<'END' || fail "at $at"
with Peer.open() as p:
    p.write(0, b"activated")
    assert p.read(0, 9) == b"activated"
END
done <"$tmp/info"
# Nothing else is listened to.
[ "$(grep -c 'listening to' "$tmp/log")" = 3 ] || fail "more than was given"
stop_nbdramd
[ -S "$tmp/activated" ] || fail "the manager's socket was removed"
rm "$tmp/activated"

for kinds in d n f td; do
	timeout 20 "$perl" "$tmp/activate" "$tmp" "$kinds" \
		"$nbdramd" -m 64M -s "$tmp/control" 1M >"$tmp/out" 2>&1 </dev/null
	status=$?
	cat "$tmp/out"
	[ "$status" = 1 ] || fail "$kinds: exit status $status"
	grep -q 'nbdramd: error: descriptor [34] from the service manager' \
		"$tmp/out" || fail "$kinds: what was said"
	[ "$(wc -l <"$tmp/out")" = 1 ] || fail "$kinds: not one line"
done
timeout 20 "$perl" "$tmp/activate" "$tmp" tp \
	"$nbdramd" -m 64M -s "$tmp/control" 1M >"$tmp/out" 2>&1 </dev/null
status=$?
cat "$tmp/out"
[ "$status" = 1 ] || fail "a public one: exit status $status"
grep -q '0\.0\.0\.0:[0-9]*, from the service manager: .*insecure' "$tmp/out" ||
	fail "what was said of a public one"
[ "$(wc -l <"$tmp/out")" = 1 ] || fail "a public one: not one line"
_hear "$tmp/notify2"
NOTIFY_SOCKET=$tmp/notify2 "$perl" "$tmp/activate" "$tmp" tp \
	"$nbdramd" --insecure -m 64M -s "$tmp/control" 1M >"$tmp/log" 2>&1 \
	</dev/null &
pid=$!
_nbdramd_logs[$pid]=$tmp/log
cleanup_fn _end_nbdramd "$pid"
read -r -t 60 -u "$hear_fd" line || fail "it does not start: $(cat "$tmp/log")"
grep -q 'listening to 0\.0\.0\.0:' "$tmp/log" || fail "it is not listened to"
stop_nbdramd

# For another process: not for us.
LISTEN_FDS=3 LISTEN_PID=1 "$nbdramd" -m 64M -l "unix:$tmp/none/s" \
	-s "$tmp/control" 1M >"$tmp/out" 2>&1
[ "$(wc -l <"$tmp/out")" = 1 ] || fail "LISTEN_PID is not looked at"
