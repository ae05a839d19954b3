#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the guest of test-clock.sh.
t_tmp=300m
. /guest-init.sh
cp /files/* /host/tmp/
dd if=/dev/urandom of=/host/tmp/data bs=64k count=8 2>/dev/null
cat >/host/tmp/conf <<END
[server]
listen = 127.0.0.1:10809
control = /tmp/control
handshake-timeout = 3s
[pool]
size = 128M
warm = 0
path = /tmp/pool
[export d]
size = 512K
[template kept-*]
size = 512K
expire = 1h
[template brief-*]
size = 512K
expire = 4s
END

die()
{
	cat /proc/net/tcp
	tail -n 20 /host/tmp/log
	end "GUEST-FAIL $*"
}

ctl() { host /tmp/nbdramctl -s /tmp/control "$@" >/tmp.log 2>&1; }
there() { ctl show "$1"; }
not_there() { ! there "$1"; }
# Whether anybody is connected (state 1) to port 10809.
connected() { grep -q ':2A39 01 ' /proc/net/tcp; }
let_go() { ! connected; }
seconds() { cut -d. -f1 /proc/uptime; }

serve()
{
	host /tmp/nbdramd -c /tmp/conf 2>>/host/tmp/log &
	server=$!
	within 60 "nbdramd does not start" ctl list
}

copy() { host nbdcopy "$@" >/tmp.log 2>&1 || die "nbdcopy $*: $(cat /tmp.log)"; }

# jump SECONDS: the clock on the wall.
jump()
{
	date -s "@$(($(date +%s) + $1))" >/dev/null || die "date"
	say "the clock has jumped by $1 s: $(date)"
}

uri=nbd://127.0.0.1
serve
copy /tmp/data $uri/d
copy /tmp/data $uri/kept-1
i=0
for by in 86400 -172800 1000000000 -1000000000 86400 -172800 1000000000; do
	i=$((i + 1))
	[ $i -gt "$t_first" ] && [ $i -le $((t_first + t_jumps)) ] || continue
	# A disk that nobody uses, and one that says nothing.
	copy /tmp/data $uri/brief-$i
	began=$(seconds)
	sleep 1000 | nc 127.0.0.1 10809 >/dev/null &
	silent=$!
	within 20 "the silent client is not there" connected
	jump $by
	there brief-$i || die "brief-$i has gone at once"
	within 60 "brief-$i is not deleted" not_there brief-$i
	[ $(($(seconds) - began)) -ge 3 ] || die "brief-$i has gone too early"
	within 60 "a silent client is not let go" let_go
	kill $silent 2>/dev/null
	killall nc sleep 2>/dev/null
	there kept-1 || die "kept-1 has gone"
	copy $uri/kept-1 /tmp/back
	cmp /host/tmp/data /host/tmp/back || die "kept-1 has other data"
	ctl save d /tmp/d.img || die "save: $(cat /tmp.log)"
	cmp /host/tmp/data /host/tmp/d.img || die "d was saved with other data"
done
# Neither while nobody serves.
for by in -172800 86400; do
	kill -9 "$(pidof nbdramd)"
	wait $server
	jump $by
	serve
	there kept-1 || die "kept-1 has gone at the start"
	copy $uri/kept-1 /tmp/back
	cmp /host/tmp/data /host/tmp/back || die "kept-1 has other data"
done
kill "$(pidof nbdramd)"
wait $server || die "nbdramd has not ended well"
pass
