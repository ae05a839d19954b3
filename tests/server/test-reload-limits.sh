#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Limits that a reload changes are in force at once, for who comes from then on;
# what needs a restart is said and stays. The command line still has the last
# word.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/reload.sh"

# config LINE...: of [server]
config()
{
	printf '%s\n' "[server]" "$@" "[pool]" "size = 64M" "[export a]" \
		"size = 1M" "default = yes" >"$conf"
}

config "handshake-timeout = 1h"
start_nbdramd --both -c "$conf" -o max-unfinished=900
config "handshake-timeout = 200ms" "max-connections = 3" \
	"max-unfinished = 800" "busy-poll = 10" "workers = 3"
reload_good "handshake-timeout = 200ms" "max-connections = 3" \
	"busy-poll = 10" "workers = 3: needs a restart"
grep -q "max-unfinished" <<<"$said" && fail "a file over the command line"
peer <<'END' || fail "limits"
began = time.monotonic()
silent = Peer()
silent.greeting()
silent.closed()
assert time.monotonic() - began < 60
three = [Peer.open() for _ in range(3)]
with Peer() as p:
    p.closed()
END

# Some leave that came before there was a limit for each address.
config
reload_good "max-connections = 0" "handshake-timeout = 10000ms"
grep -q "workers" <<<"$said" && fail "a key that is as it was at the start"
mkfifo "$tmp/go"
peer "$tmp" <<'END' &
many = [Peer.open(uri=tcp_uri) for _ in range(4)]
open(args[0] + "/began", "w").close()
open(args[0] + "/go").read()
for p in many[1:]:
    p.disc()
    p.closed()
two = [many[0], Peer.open(uri=tcp_uri)]
with Peer(tcp_uri) as p:
    p.closed()
END
client=$!
wait_for 60 test -e "$tmp/began" || fail "no clients"
config "max-per-address = 2"
reload_good "max-per-address = 2"
: >"$tmp/go"
wait "$client" || fail "max-per-address"
