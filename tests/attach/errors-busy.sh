# SPDX-License-Identifier: BSD-3-Clause
# A device that somebody has is neither taken nor given away, and it is said who has it.
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
requires_command nbd-client mke2fs
attach_guest <<'END'
module drivers/block/nbd.ko
start_server -e other,size=8M
host nbd-client 127.0.0.1 $port -N other /dev/nbd1 >/err 2>&1 ||
	die "nbd-client: $(cat /err)"
refused 'nbd1 is attached already, to something else' attach $uri --device nbd1
refused 'nbd1: is not attached' detach nbd1
host nbd-client -d /dev/nbd1 >/err 2>&1

attach $uri --device nbd1 --format ext4 --mount /tmp/disk
[ $dev = nbd1 ] || die "it is $dev"
refused 'nbd1 is in use: mounted at /tmp/disk' detach nbd1
umount /host/tmp/disk
sleep 100 </dev/nbd1 &
reader=$!
refused "nbd1 is in use: open in process [0-9]* (sleep)" detach nbd1
kill $reader
# An empty disk is formatted; one with something on it is not.
refused 'has ext4 on it, and not xfs' attach $uri --format xfs
attach $uri
detach
nothing_left
dd if=/dev/urandom of=/data bs=1k count=8 2>/dev/null
attach nbd://127.0.0.1:$port/other
dd if=/data of=/dev/$dev conv=fsync 2>/dev/null
refused 'something unknown on it' attach nbd://127.0.0.1:$port/other --format ext4
[ -e /sys/block/$dev/backend ] || die "what was attached before is gone"
detach
refused 'something unknown on it' attach nbd://127.0.0.1:$port/other --format ext4
nothing_left

# Two at once: one device.
host /tmp/nbdramctl attach $uri >/out1 2>&1 &
one=$!
host /tmp/nbdramctl attach $uri >/out2 2>&1 &
wait $! || die "the second: $(cat /out2)"
wait $one || die "the first: $(cat /out1)"
cmp /out1 /out2 || die "$(cat /out1 /out2)"
[ "$(echo /sys/block/nbd*/backend | wc -w)" = 1 ] || die "two devices"
dev=$(sed 's/.dev.//' /out1)
detach
nothing_left

# Whoever asks has gone before the device is free: it is not made for nobody.
being_made() { ls /host/run/nbdram-attach/making-* >/dev/null 2>&1; }
exec 3</dev/nbd0
chroot /host /tmp/nbdramctl attach $uri --device nbd0 >/out 2>&1 3<&- &
asker=$!
until_true 10 being_made || die "it does not begin: $(cat /out)"
kill -9 $asker
usleep 500000 # it is looked for every 100 ms
exec 3<&-
until_true 10 said 'nbd0: undone' || die "a device for nobody"
nothing_left
END
