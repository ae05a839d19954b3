#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The clock on the wall jumps, a day and thirty years, forward and back, in a guest of
# User-mode Linux: disks of templates expire when their time is over and not before,
# silent clients are let go, a save works; and a disk is not gone because it jumped
# while nobody served. What the guest does stands in uml-clock-init.sh.
. ./functions.sh
. "$abs_top_srcdir/tests/guest.sh"
requires_command nbdcopy
[ -z "$sanitizers" ] || skip "too slow with a sanitizer in the guest"
requires_guest
cp "$nbdramd" "$nbdramctl" "$guest_root/files/"
run_guest survive/uml-clock-init.sh 640M 300 "t_jumps=$(scaled 4)" \
	"t_first=$((NBDRAM_TEST_SEED % 4))"
