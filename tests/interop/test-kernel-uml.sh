#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real build on the disk, by the real nbd.ko and nbd-client, in a guest of
# User-mode Linux: by one connection, then by four (a short run: one of these). What the guest does stands in
# uml-init.sh. It sees this host's programs by hostfs (nothing of the host is
# writable there) and reaches the server over a tap device, in a network namespace
# that is made here and has nothing else in it.
. ./functions.sh
servers="plugin nbdramd"
. "$abs_top_srcdir/tests/interop/each-server.sh"
. "$abs_top_srcdir/tests/interop/source-tree.sh"
. "$abs_top_srcdir/tests/guest.sh"
PATH=$PATH:/usr/sbin:/sbin
requires_command nbd-client ip make gcc mke2fs e2fsck fstrim blkdiscard
requires_guest drivers/block/nbd.ko
[ -c /dev/net/tun ] || skip "no /dev/net/tun"
source_tree
if [ ! "${connections:-}" ]; then
	connections=$((RANDOM % 2 * 3 + 1))
	[ "$(scaled 100)" != 100 ] || connections=1,4
fi
echo "connections: $connections"

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

case $source_tar in
*.gz) cp "$source_tar" "$guest_root/source.tar.gz" ;;
*) tar -C "$tmp" -xf "$source_tar" &&
	tar -C "$tmp" -czf "$guest_root/source.tar.gz" "$source_dir" ;;
esac
run_guest --with ip netns exec "$ns" -- interop/uml-init.sh 768M 900 \
	vec0:transport=tap,ifname=tap0,depth=64,gro=1 \
	t_ip=10.77.0.2 t_host=10.77.0.1 t_port=10809 t_tmp=128m \
	t_connections="$connections" t_sectors=$((mib * 2048)) \
	t_dir="$source_dir"

# All that the guest had written was discarded.
back() { [ "$(pool_bytes)" -le $((before + (2 << 20))) ]; }
wait_for 5 back || fail "$(pool_bytes) bytes at the end, $before before"
