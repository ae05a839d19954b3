#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A reload opens and closes listeners; those that stay are not touched, nor is
# any client. An address that overlaps with the one before needs no pause. What
# cannot be listened to changes nothing.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

# listen ADDRESSES [LINE...]
listen()
{
	printf '%s\n' "[server]" "listen = $1" "${@:2}" "[pool]" "size = 64M" \
		"[export a]" "size = 1M" "default = yes" >"$conf"
}

one=$tmp/one two=$tmp/two
listen "unix:$one"
start_nbdramd --file -c "$conf"
at()
{
	uri="nbd+unix:///?socket=$1" peer <<<'Peer.open().read(0, 512)'
}
at "$one" || fail "at first"

# A client that came in by the first socket, and one that waits to be accepted,
# stay; so does the socket's file.
inode=$(stat -c %i "$one")
listen "unix:$one, unix:$two"
reload_good "listening to unix:$two"
at "$one" && at "$two" || fail "at both"
[ "$(stat -c %i "$one")" = "$inode" ] || fail "the socket is another now"
reload_good "nothing is different"
mkfifo "$tmp/go"
uri="nbd+unix:///?socket=$one" peer "$tmp" <<'END' &
p = Peer.open()
open(args[0] + "/began", "w").close()
open(args[0] + "/go").read()
p.write(0, b"still here")
assert p.read(0, 10) == b"still here"
END
client=$!
wait_for 60 test -e "$tmp/began" || fail "no client"
listen "unix:$two"
reload_good "no longer listening to unix:$one"
[ ! -e "$one" ] || fail "the socket's file stays"
at "$two" || fail "at the second"
: >"$tmp/go"
wait "$client" || fail "the client of a listener that is closed"

# TCP: a port that the kernel chose stays the same.
listen "unix:$two, 127.0.0.1:0"
reload_good "listening to 127.0.0.1:"
port=$(sed -n 's/.*reload: listening to 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$log")
tcp()
{
	uri=nbd://$1:$port peer <<<'Peer.open().read(0, 512)'
}
tcp 127.0.0.1 || fail "on TCP"
reload_good "nothing is different"
tcp 127.0.0.1 || fail "on TCP, again"

# Somebody else's: nothing changes, also not what else was asked for.
listen "unix:$tmp/three, 127.0.0.1:$port"
start=$("$perl" -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(
	Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 0) or die $!;
	print $s->sockport, " $$\n"; close(STDOUT); sleep 600' &)
read -r other other_pid <<<"$start"
cleanup_fn kill "$other_pid"
listen "unix:$tmp/three, 127.0.0.1:$other"
reload_bad "127.0.0.1:$other: cannot listen"
[ ! -e "$tmp/three" ] || fail "the socket of a failed reload stays"
at "$two" && tcp 127.0.0.1 || fail "after a failed reload"

# In clear only for this host, unless it is said; and then all addresses in the
# place of one, while clients come and go.
listen "unix:$two, :$port"
reload_bad "others than this host"
listen "127.0.0.1:$port"
reload_good "listening to 127.0.0.1:$port"
uri=nbd://127.0.0.1:$port peer "$tmp/enough" <<'END' &
# Never refused; the kernel resets what comes in the microsecond before it closes.
reset = done = 0
while not os.path.exists(args[0]):
    try:
        with Peer.open() as p:
            p.read(0, 512)
            done += 1
    except (ConnectionResetError, Closed):
        reset += 1
print("clients: %d, reset: %d" % (done, reset))
assert done > 0 and reset <= 2
END
client=$!
for ((i = 0; i < 10; i++)); do
	listen "0.0.0.0:$port" "insecure = yes"
	reload_good "listening to 0.0.0.0:$port" "insecure = yes"
	listen "0.0.0.0:$port" "insecure = no"
	reload_bad "0.0.0.0:$port: others than this host"
	listen "127.0.0.1:$port"
	reload_good "no longer listening to 0.0.0.0:$port"
done
# One that is two sockets is told once, with its place.
listen ":$port" "insecure = yes"
reload_good "listening to 0.0.0.0:$port"
listen ":$port" "insecure = no"
reload_bad "$conf:[0-9]+: :$port: others than this host .*insecure = yes"
listen "127.0.0.1:$port"
reload_good "no longer listening to 0.0.0.0:$port"
: >"$tmp/enough"
wait "$client" || fail "a client was turned away while listeners changed"
# It is nobody else's to share.
wrong 1 "cannot listen" -l "127.0.0.1:$port" -m 64M 1M
