# SPDX-License-Identifier: BSD-3-Clause
# For tests of nbdramctl attach: nbdramd, nbdramctl and the device are all in a guest
# (see guest.sh). Comes after functions.sh.
# shellcheck shell=bash
. "$abs_top_srcdir/tests/guest.sh"
[ -z "$sanitizers" ] || skip "too slow with a sanitizer in the guest"
PATH=$PATH:/usr/sbin:/sbin
requires_guest drivers/block/nbd.ko
cp "$nbdramd" "$nbdramctl" "$guest_root/files/"
cp "$abs_top_srcdir"/tests/attach/guest.sh "$guest_root/files/attach.sh"
cp "$abs_top_srcdir"/tests/attach/writer.py "$guest_root/files/"

# attach_guest [ARGUMENT...]: the guest does what comes from standard input, with the
# functions of attach/guest.sh, and passes at its end; arguments as of run_guest.
attach_guest()
{
	cat >"$guest_root/files/script"
	run_guest attach/uml-init.sh 768M "${attach_seconds:-300}" t_tmp=400m "$@"
}
