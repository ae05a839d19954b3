# SPDX-License-Identifier: BSD-3-Clause
# Attaching with a kernel whose module nbd is not loaded, and cannot be: said in one
# line, and nothing is left.
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
[ ! -d /lib/modules/6.1.176 ] || skip "the guest's modules are installed here"
attach_guest <<'END'
start_server
refused 'module nbd is not loaded, and .*modprobe' attach $uri
until_true 10 no_watcher || die "the watcher stays"
module drivers/block/nbd.ko
attach $uri
detach
nothing_left
END
