# SPDX-License-Identifier: BSD-3-Clause
# Command lines of attach, detach and attached that are wrong: one line, status 2; and
# without rights: status 1. Nothing is started.
. ./functions.sh

# refused STATUS PATTERN ARGUMENT...
refused()
{
	local status=$1 pattern=$2 got
	shift 2
	timeout 20 "${front[@]}" "$nbdramctl" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	cat "$tmp/err"
	[ "$got" = "$status" ] || fail "exit status $got: $*"
	[ ! -s "$tmp/out" ] || fail "something on standard output: $*"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line: $*"
	grep -q -- "$pattern" "$tmp/err" || fail "no '$pattern': $*"
}

front=()
uri=nbd://localhost/disk
refused 2 'which disk' attach
refused 2 'one URI' attach $uri $uri
refused 2 'nbd' attach http://localhost/
refused 2 'URI' attach "nbd://$(printf 'x%.0s' {1..5000})/"
refused 2 'does not begin with /' attach 'nbd+unix:///?socket=here'
for number in 0 17 -1 x 1x 4294967297 ''; do
	refused 2 "--connections $number: is no number" attach $uri \
		--connections "$number"
done
refused 2 '--timeout -1' attach $uri --timeout -1
refused 2 '--give-up 0' attach $uri --give-up 0
for device in sda nbd /dev/nbd-1 nbd1x nbd01 nbd99999999 /tmp/nbd1; do
	refused 2 "--device $device: is no NBD device" attach $uri \
		--device "$device"
done
refused 2 'is no type of file system' attach $uri --format ../../bin/sh
refused 2 'does not let it' attach $uri --format ext4 --readonly
refused 2 '--device: something is to follow' attach $uri --device
refused 2 '--nothing: no such option' attach $uri --nothing
refused 2 '--nothing: no such option' detach nbd0 --nothing
refused 2 'name one device' detach
refused 2 'name one device' detach nbd0 nbd1
refused 2 'is too much' attached nbd0
refused 2 'is too much' attach-watch --always

requires_root
requires_command setpriv
front=(setpriv --reuid=65534 --clear-groups)
"${front[@]}" test -x "$nbdramctl" || skip "others cannot run $nbdramctl"
refused 1 'run it as root' attach $uri
refused 1 'run it as root' detach nbd0
refused 1 'run it as root' attached
refused 1 'run it as root' attach-watch
