# SPDX-License-Identifier: BSD-3-Clause
# What the guests of the tests of nbdramctl attach have in common; see ../attach.sh.
# Paths are those of the host's programs: /tmp is /host/tmp.
# shellcheck shell=sh

mount -t tmpfs -o size=8m run /host/run || die "tmpfs"

# What a dead disk still holds up is not waited for.
die()
{
	dmesg | tail -n 20
	[ ! -f /host/tmp/log ] || tail -n 40 /host/tmp/log
	say "GUEST-FAIL $*"
	poweroff -n -f
	sleep 100
}

# until_true SECONDS COMMAND...: false if it does not come true.
until_true()
{
	_until=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -le "$_until" ] || return 1
		usleep 20000
	done
}

for program in nbdramd nbdramctl writer.py; do
	cp /files/$program /host/tmp/ || die "cannot copy $program"
done
mkdir -p /host/tmp/disk
port=10809
uri=nbd://127.0.0.1:$port/scratch

# start_server [ARGUMENT...]: nbdramd with its pool in a folder, unless told otherwise
# by $pool; the disk scratch of 64 MiB.
start_server()
{
	host /tmp/nbdramd -l 127.0.0.1:$port -s /tmp/control \
		${pool--p /tmp/pool} -m 200M -o workers=1 \
		-e "scratch,size=${size:-64M}" "$@" 2>>/host/tmp/log &
	server=$!
	until_true 20 can_connect || die "nbdramd does not start"
}

can_connect() { grep -q "$(printf ': 0100007F:%04X 00000000:0000 0A' $port)" /proc/net/tcp; }

kill_server()
{
	kill -9 "$(pidof nbdramd)"
	wait $server
}

stop_server()
{
	kill "$(pidof nbdramd)"
	wait $server || die "nbdramd has not ended well"
}

ctl() { host /tmp/nbdramctl -s /tmp/control "$@"; }

# attach [ARGUMENT...]: $uri unless the first one is another; sets $dev (nbd0).
attach()
{
	dev=$(host /tmp/nbdramctl attach "$@" 2>/err) ||
		die "attach $*: $(cat /err)"
	cat /err
	dev=${dev#/dev/}
}

detach()
{
	host /tmp/nbdramctl detach "${1:-$dev}" >/err 2>&1 ||
		die "detach: $(cat /err)"
}

# refused PATTERN ARGUMENT...: nbdramctl fails with one line that has this in it.
refused()
{
	_pattern=$1
	shift
	host /tmp/nbdramctl "$@" >/out 2>/err && die "not refused: $*"
	_status=$?
	cat /err
	[ $_status = 1 ] || die "exit status $_status: $*"
	[ "$(wc -l </err)" = 1 ] || die "not one line: $*"
	[ ! -s /out ] || die "something on standard output: $*"
	grep -q -- "$_pattern" /err || die "no '$_pattern': $*"
}

attached() { host /tmp/nbdramctl attached; }

# watcher: its process.
watcher() { pidof @nbdramctl nbdramctl; }

# said PATTERN: the watcher has written this to the kernel's log.
said() { dmesg | grep -q -- "nbdram-attach: .*$1"; }

# nothing_left: no device, no state file, and no watcher but for a moment.
nothing_left()
{
	for _file in /sys/block/nbd*; do
		[ "$(cat "$_file/size")" = 0 ] || die "$_file has a size"
		[ ! -e "$_file/backend" ] || die "$_file is attached"
	done
	_left=$(cd /host/run/nbdram-attach && echo nbd* making-* .*)
	[ "$_left" = 'nbd* making-* . ..' ] || [ "$_left" = 'nbd* making-* .*' ] ||
		die "left in the state folder: $_left"
	until_true 10 no_watcher || die "the watcher stays"
}

no_watcher() { [ ! "$(watcher)" ]; }

# no_errors: the kernel has seen none, and the file system stands.
no_errors()
{
	dmesg | grep -i -E 'I/O error|EXT4-fs error|remounting|aborted' &&
		die "the kernel saw errors"
	true
}
