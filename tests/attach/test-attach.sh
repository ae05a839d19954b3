# SPDX-License-Identifier: BSD-3-Clause
# nbdramctl attach, attached and detach: the device is what the server says and what
# was asked for, attaching twice is attaching once, and nothing is left in the end.
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
attach_guest <<'END'
module drivers/block/nbd.ko
start_server -e other,size=1M
attach $uri
[ "$dev" = nbd0 ] || die "it is $dev"
queue=/sys/block/$dev/queue
[ "$(cat /sys/block/$dev/size)" = 131072 ] || die "size"
[ "$(cat $queue/logical_block_size)" = 4096 ] || die "block size"
[ "$(cat $queue/max_sectors_kb)" -ge 1024 ] || die "max_sectors_kb"
[ "$(cat $queue/read_ahead_kb)" -ge 1024 ] || die "read_ahead_kb"
[ "$(cat $queue/io_timeout)" = 500 ] || die "io_timeout $(cat $queue/io_timeout)"
[ "$(cat $queue/fua)" = 1 ] || die "no FUA"
grep -q "^nbdram:127.0.0.1:$port/scratch#" /sys/block/$dev/backend ||
	die "backend $(cat /sys/block/$dev/backend)"
attached
attached | grep -q "^/dev/nbd0  *64M  *$uri  *1  *connected" || die "attached"
host /tmp/nbdramctl --json attached | grep -q '"connected": 1' || die "json"

first=$dev
attach $uri
[ "$dev" = "$first" ] || die "attached twice, as $dev"
[ ! -e /sys/block/nbd1/backend ] || die "there is a second device"
refused 'already, as nbd0' attach $uri --device nbd3
refused 'nbd0 is attached already' attach nbd://127.0.0.1:$port/other --device nbd0
refused 'no such export' attach nbd://127.0.0.1:$port/none

dd if=/dev/urandom of=/data bs=1M count=8 2>/dev/null
dd if=/data of=/dev/$dev bs=1M 2>/dev/null || die "write"
detach
nothing_left
attach $uri --readonly --device nbd2
[ "$dev" = nbd2 ] || die "it is $dev and not nbd2"
[ "$(cat /sys/block/nbd2/ro)" = 1 ] || die "it may be written to"
dd if=/dev/nbd2 of=/back bs=1M count=8 2>/dev/null
cmp /data /back || die "what was written before detach is not there"
detach $uri
nothing_left
stop_server
no_errors
END
