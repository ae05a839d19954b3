# SPDX-License-Identifier: BSD-3-Clause
# Kernel TLS for sending: nbdramd and clients in a guest of User-mode Linux, whose
# kernel has it, with TLS 1.2 and 1.3; and a block device there by nbd-client with
# TLS. What the guest does stands in uml-tls-init.sh; it sees this host's programs by
# hostfs, where nothing is writable.
. ./functions.sh
. "$abs_top_srcdir/tests/tls.sh"
. "$abs_top_srcdir/tests/guest.sh"
requires_command nbdcopy nbd-client
[ -z "$sanitizers" ] || skip "too slow with a sanitizer in the guest"
requires_guest net/tls/tls.ko

tls_init
cp -r "$tls" "$guest_root/files/tls"
cp "$tls_client"/client-*.pem "$guest_root/files/tls/"
cp "$nbdramd" "$guest_root/files/nbdramd"
run_guest interop/uml-tls-init.sh 768M 300
