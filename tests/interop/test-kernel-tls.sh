# SPDX-License-Identifier: BSD-3-Clause
# Kernel TLS for sending: nbdramd and clients in a guest of User-mode Linux, whose
# kernel has it, with TLS 1.2 and 1.3; and a block device there by nbd-client with
# TLS. What the guest does stands in uml-tls-init.sh; it sees this host's programs by
# hostfs, where nothing is writable.
. ./functions.sh
. "$abs_top_srcdir/tests/tls.sh"
requires_root
requires_command linux.uml cpio busybox nbdcopy nbd-client
[ -z "$sanitizers" ] || skip "too slow with a sanitizer in the guest"
module=$(echo /usr/lib/uml/modules/*/kernel/net/tls/tls.ko)
[ -f "$module" ] || skip "User-mode Linux has no tls.ko"
ldd "$(command -v busybox)" >/dev/null 2>&1 &&
	skip "busybox is not static (Debian: busybox-static)"

tls_init
root=$tmp/root
mkdir -p "$root/bin" "$root/dev" "$root/files"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in $("$root/bin/busybox" --list); do
	[ -e "$root/bin/$name" ] || ln -s busybox "$root/bin/$name"
done
cp "$abs_top_srcdir/tests/interop/uml-tls-init.sh" "$root/init"
chmod 755 "$root/init"
mknod "$root/dev/console" c 5 1 && mknod "$root/dev/null" c 1 3 ||
	skip "cannot make device nodes"
cp -r "$tls" "$root/files/tls"
cp "$tls_client"/client-*.pem "$root/files/tls/"
cp "$nbdramd" "$root/files/nbdramd"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$tmp/initrd.gz" ||
	fail "no initrd"

mkdir "$tmp/uml"
memory=$(mktemp -d /dev/shm/nbdram-test-XXXXXX) || memory=$tmp
cleanup_fn rm -rf "$memory"
TMPDIR=$memory timeout -k 5 300 linux.uml mem=768M uml_dir="$tmp/uml" \
	umid="nbdram$$" initrd="$tmp/initrd.gz" rdinit=/init con0=null,fd:1 \
	con=null quiet "t_modules=${module%/kernel/*}" \
	>"$tmp/guest.log" 2>&1 </dev/null
tr -d '\r' <"$tmp/guest.log"
grep -q 'GUEST-PASS' "$tmp/guest.log" || fail "the guest has not passed"
