# SPDX-License-Identifier: BSD-3-Clause
# Links by the kernel's TLS, in both directions: versions, ciphers, certificates and
# pre-shared keys, nbdramd (OpenSSL) and nbdkit (GnuTLS, with tickets); and the relay
# where the kernel has no TLS, or not the cipher. What the guest of User-mode Linux
# does stands in link-init.sh.
. ./functions.sh
. "$abs_top_srcdir/tests/tls.sh"
. "$abs_top_srcdir/tests/guest.sh"
[ -z "$sanitizers" ] || skip "too slow with a sanitizer in the guest"
requires_guest net/tls/tls.ko crypto/gcm.ko crypto/chacha20poly1305.ko
requires_command "$nbdkit"
tls_init
cp -r "$tls" "$guest_root/files/tls"
cp "$tls_client"/client-*.pem "$guest_root/files/tls/"
cp "$nbdramd" "$guest_root/files/"
# libtool's wrapper is no program.
"$abs_top_builddir/libtool" --quiet --mode=execute cp \
	"$abs_top_builddir/tests/attach/link-io" "$guest_root/files/" ||
	fail "no link-io"
run_guest attach/link-init.sh 768M 600
