# SPDX-License-Identifier: BSD-3-Clause
# The server stays away for longer than the device is to wait: whoever waits gets an
# error, what happened is told, a device that is mounted stays until it is unmounted,
# nothing is left after detach, and attaching again works.
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
requires_command mke2fs
attach_guest <<'END'
module drivers/block/nbd.ko
start_server
attach $uri --give-up 8 --format ext4 --mount /tmp/disk
echo kept >/host/tmp/disk/file
sync
stop_server
until_true 30 sh -c 'chroot /host /tmp/nbdramctl attached | grep -q away' ||
	die "not told that the server is away"
attached
dd if=/dev/zero of=/host/tmp/disk/more bs=4k count=1 conv=fsync 2>/err &&
	die "written without a server"
cat /err
until_true 30 said 'given up after 8 s' || die "not told in the log"
attached >/out
cat /out
grep -q 'given up .*Connection refused' /out || die "attached"
refused 'nbd0 is in use: mounted at /tmp/disk' detach nbd0
start_server
refused 'nbd0 is in use: mounted at /tmp/disk' attach $uri
umount /host/tmp/disk
detach
nothing_left
attach $uri --mount /tmp/disk
[ "$(cat /host/tmp/disk/file)" = kept ] || die "another file system"
umount /host/tmp/disk
detach

# Given up, and not in anybody's way: attached anew at once.
attach $uri --give-up 1
kill_server
until_true 30 said 'given up after 1 s' || die "not given up"
start_server
attach $uri
detach
nothing_left

# Another watcher can take it away too, whoever has it.
attach $uri --give-up 1 --mount /tmp/disk
kill_server
until_true 30 sh -c '[ "$(dmesg | grep -c "given up after 1 s")" = 2 ]' ||
	die "not given up again"
kill -9 $(watcher)
until_true 30 no_watcher || die "the watcher lives"
host /tmp/nbdramctl detach --force $dev >/err 2>&1 ||
	die "detach --force: $(cat /err)"
umount /host/tmp/disk
nothing_left
END
