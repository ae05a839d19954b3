#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The real nbd.ko with an ext4 mounted, in a guest of User-mode Linux: nbdramd is
# killed with -9 while three writers are at it, and started again. Today's nbd-client
# does not bring the device back (the kernel answers errors, or waits until the device
# is detached); but when it is attached again, its file system is whole, and so is
# every file that was fsynced. By nbd-client with one connection, with four, and with
# -persist in its old way, in turn. What the guest does stands in uml-restart-init.sh.
. ./functions.sh
. "$abs_top_srcdir/tests/guest.sh"
PATH=$PATH:/usr/sbin:/sbin
requires_command nbd-client mke2fs e2fsck
[ -z "$sanitizers" ] || skip "too slow with a sanitizer in the guest"
requires_guest drivers/block/nbd.ko
cp "$nbdramd" "$nbdramctl" "$guest_root/files/"
run_guest survive/uml-restart-init.sh 640M 300 t_tmp=200m \
	"t_rounds=$(scaled 30)" "t_first=$((NBDRAM_TEST_SEED % 3))"
