#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real build on the disk, by the real nbd.ko and nbd-client, in a guest of
# User-mode Linux: by one connection, then by four. What the guest does stands in
# uml-init.sh. It sees this host's programs by hostfs (nothing of the host is
# writable there) and reaches the server over a tap device, in a network namespace
# that is made here and has nothing else in it.
. ./functions.sh
servers="plugin nbdramd"
. "$abs_top_srcdir/tests/interop/each-server.sh"
. "$abs_top_srcdir/tests/interop/source-tree.sh"
PATH=$PATH:/usr/sbin:/sbin
requires_root
requires_command linux.uml nbd-client ip cpio make gcc mke2fs e2fsck fstrim \
	blkdiscard busybox
module=$(echo /usr/lib/uml/modules/*/kernel/drivers/block/nbd.ko)
[ -f "$module" ] || skip "User-mode Linux has no nbd.ko"
ldd "$(command -v busybox)" >/dev/null 2>&1 &&
	skip "busybox is not static (Debian: busybox-static)"
[ -c /dev/net/tun ] || skip "no /dev/net/tun"
source_tree

# A namespace of our own.
ns=nbdram$$
ip netns add "$ns" 2>"$tmp/err" || skip "no network namespace: $(cat "$tmp/err")"
cleanup_fn ip netns del "$ns"
ip -n "$ns" link set lo up
ip -n "$ns" tuntap add dev tap0 mode tap || skip "no tap device"
ip -n "$ns" addr add 10.77.0.1/24 dev tap0
ip -n "$ns" link set tap0 up

# The server in it; the port is free, for nobody else is there.
mib=256
case $NBDRAM_SERVER in
plugin)
	ip netns exec "$ns" "${nbdkit_command[@]}" -f -P "$tmp/nbdkit.pid" \
		-i 10.77.0.1 -p 10809 "$plugin" "${mib}M" memory=512M \
		>"$tmp/nbdkit.log" 2>&1 </dev/null &
	server_pid=$!
	cleanup_fn cat "$tmp/nbdkit.log"
	cleanup_fn end_process "$server_pid"
	wait_for 20 test -s "$tmp/nbdkit.pid" || fail "nbdkit does not start"
	;;
*)
	start_nbdramd --with ip netns exec "$ns" -- --insecure \
		-l 10.77.0.1:10809 -m 512M "${mib}M"
	server_pid=$pid
	;;
esac
wait_for 10 pool_settled
before=$(pool_bytes)

# The guest's memory file system: busybox, its first process, the source.
root=$tmp/root
mkdir -p "$root/bin" "$root/dev"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in $("$root/bin/busybox" --list); do
	[ -e "$root/bin/$name" ] || ln -s busybox "$root/bin/$name"
done
cp "$abs_top_srcdir/tests/interop/uml-init.sh" "$root/init"
chmod 755 "$root/init"
mknod "$root/dev/console" c 5 1 && mknod "$root/dev/null" c 1 3 ||
	skip "cannot make device nodes"
case $source_tar in
*.gz) cp "$source_tar" "$root/source.tar.gz" ;;
*) tar -C "$tmp" -xf "$source_tar" &&
	tar -C "$tmp" -czf "$root/source.tar.gz" "$source_dir" ;;
esac
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$tmp/initrd.gz" ||
	fail "no initrd"

mkdir "$tmp/uml"
# Its memory is a file, best on a tmpfs.
memory=$(mktemp -d /dev/shm/nbdram-test-XXXXXX) || memory=$tmp
cleanup_fn rm -rf "$memory"
start=$(date +%s)
TMPDIR=$memory timeout -k 5 300 ip netns exec "$ns" linux.uml mem=768M \
	uml_dir="$tmp/uml" umid="$ns" initrd="$tmp/initrd.gz" rdinit=/init \
	con0=null,fd:1 con=null quiet \
	vec0:transport=tap,ifname=tap0,depth=64,gro=1 \
	t_ip=10.77.0.2 t_host=10.77.0.1 t_port=10809 \
	t_connections="${connections:-1,4}" t_sectors=$((mib * 2048)) \
	t_module="$module" t_dir="$source_dir" \
	>"$tmp/guest.log" 2>&1 </dev/null
tr -d '\r' <"$tmp/guest.log"
echo "the guest ran for $(($(date +%s) - start)) s"
grep -q 'GUEST-PASS' "$tmp/guest.log" || fail "the guest has not passed"

# All that the guest had written was discarded.
back() { [ "$(pool_bytes)" -le $((before + (2 << 20))) ]; }
wait_for 5 back || fail "$(pool_bytes) bytes at the end, $before before"
