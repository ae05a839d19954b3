# SPDX-License-Identifier: BSD-3-Clause
# After the server was away there is another disk by the same name, or the same one
# loaded anew: the device does not go on with it and it is said why; with the right one
# it goes on. A larger disk makes the device larger, mounted or not.
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
requires_command mke2fs
attach_guest <<'END'
module drivers/block/nbd.ko
start_server
attach $uri --format ext4 --mount /tmp/disk
echo first >/host/tmp/disk/file
sync
kill_server

# Another pool.
pool='' start_server
until_true 20 said 'there is another disk by that name now' || die "not said"
attached >/out
cat /out
grep -q 'away .*another disk by that name' /out || die "not told"
dd if=/dev/zero of=/host/tmp/disk/more bs=4k count=1 conv=fsync 2>/err &
writer=$!
usleep 1500000
[ -d /proc/$writer ] || die "written to another disk, or failed: $(cat /err)"
kill_server
start_server
wait $writer || die "the writer has failed: $(cat /err)"
until_true 10 said 'connected to .* again' || die "not connected"

# Larger.
ctl resize scratch 96M || die "resize"
attach $uri
until_true 10 grep -qx 196608 /sys/block/nbd0/size || die "it does not grow"
echo more >/host/tmp/disk/again
sync

# Loaded anew.
ctl save scratch /tmp/image || die "save"
ctl load scratch /tmp/image --force || die "load"
until_true 20 said 'its contents have been replaced' || die "not said: load"
host /tmp/nbdramctl detach nbd0 --force || die "detach --force"
umount /host/tmp/disk
nothing_left
attach $uri --mount /tmp/disk
[ "$(cat /host/tmp/disk/again)" = more ] || die "other contents"
umount /host/tmp/disk
detach
nothing_left
END
