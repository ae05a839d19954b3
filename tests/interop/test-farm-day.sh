#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A day of a build farm, from one file, with TLS: a golden image is loaded; hosts open
# disks of their own that a template makes, mount and build in them (see
# loop-disks.sh), are cut off and come back to what they had; the image is loaded anew
# under them; one disk is saved while it is written to; the server is killed and
# started again; disks that nobody wants any more go. At the end each has what is its
# own and all memory is accounted for.
if [ ! "${NBDRAM_OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	NBDRAM_OWN_MOUNTS=1 exec unshare --mount "${BASH:-bash}" "$0"
fi
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/interop/source-tree.sh"
. "$abs_top_srcdir/tests/interop/loop-disks.sh"
. "$abs_top_srcdir/tests/interop/debian-root.sh"
requires_command gcc make jq nbdkit
nbdkit --dump-plugin nbd >/dev/null 2>&1 || skip "nbdkit has no client (nbd)"
source_tree
debian_root
new_pool
hosts=$(scaled 20 4)
megabytes=128
[ ! "$root_tar" ] || megabytes=1024

# ------------------------------------------------------- images and the file

# make_image FILE WORD: the root of the hosts, with WORD in /generation.
make_image()
{
	if [ ! -d "$tmp/root" ]; then
		mkdir "$tmp/root"
		[ ! "$root_tar" ] || tar -C "$tmp/root" -xf "$root_tar" --exclude='./dev/*'
		tar -C "$tmp/root" -xf "$source_tar"
	fi
	echo "$2" >"$tmp/root/generation"
	truncate -s "${megabytes}M" "$1"
	mkfs.ext4 -q -F -d "$tmp/root" "$1" || fail "mkfs"
}
make_image "$tmp/gold.img" first
make_image "$tmp/gold-2.img" second
names=()
for ((i = 1; i <= hosts + 1; i++)); do
	names+=(--client "$i")
done
"$nbdramctl" tls-init "$tmp/tls" --host localhost --client admin "${names[@]}" \
	>"$tmp/out" || fail "tls-init: $(cat "$tmp/out")"
cat >"$tmp/conf" <<END
[server]
tls = require
tls-dir = $tmp/tls
[pool]
path = $pool
size = $((megabytes * 3 + hosts * 48))M
[export gold]
image = $tmp/gold.img
readonly = yes
allow = cert:*
[export pairs]
size = 64M
allow = cert:admin
[template host-*]
clone = gold
quota = 96M
expire = 1h
allow = cert:%*
[template tmp-*]
size = 16M
format = ext4
expire = 1s
allow = cert:*
END

# ------------------------------------------------------------------- hosts

# attach NAME DISK CERTIFICATE: nbdfuse takes no certificates, nbdkit's client does.
attach()
{
	loop_attach "$1" [ nbdkit --exit-with-parent nbd hostname=localhost "port=$port" \
		"export=$2" tls=require "tls-certificates=$tmp/tls/$3" ]
}

# come N: host N attaches its disk and mounts it; its journal is replayed by that.
come()
{
	attach "host-$1" "host-$1" "$1" || fail "host-$1 cannot attach: $(cat "$tmp/host-$1/said")"
	loop_mount "host-$1" || fail "host-$1 cannot mount"
}

# build N: what host N does all day; runs for all of them at once.
build()
{
	local mnt=$tmp/host-$1/mnt words
	words=(env TMPDIR="$mnt" make -s -C "$mnt/$source_dir/src")
	[ ! "$root_tar" ] || words=(chroot "$mnt" env TMPDIR=/ PATH=/usr/bin:/bin
		make -s -C "/$source_dir/src")
	"${words[@]}" CFLAGS=-O0 lapi.o lcode.o lgc.o >"$tmp/host-$1/make" 2>&1 &&
		head -c 1000000 /dev/urandom >"$mnt/own" &&
		echo "$1" >"$mnt/who" &&
		sha256sum "$mnt"/own "$mnt/$source_dir"/src/*.o | sed "s|$mnt/||" \
			>"$tmp/host-$1/sums" &&
		sync -f "$mnt"
}

# has N: all that host N made is on its disk, and the image's generation beside it.
has()
{
	local mnt=$tmp/host-$1/mnt
	[ "$(cat "$mnt/who")" = "$1" ] || fail "host-$1 has another's disk"
	(cd "$mnt" && sha256sum --quiet -c "$tmp/host-$1/sums") ||
		fail "host-$1: what it has built is not as it was"
	[ "$(cat "$mnt/generation")" = "$2" ] ||
		fail "host-$1 has generation $(cat "$mnt/generation"), not $2"
}

# disk NAME: what nbdramctl shows of it, as JSON.
disk() { ctl --json show "$1" | jq .disk; }
held() { ctl --json show | jq .pool.held; }

# ---------------------------------------------------------------- the day

start_nbdramd --tcp -c "$tmp/conf"
gold=$(disk gold | jq .held)
[ "$gold" -gt 1000000 ] || fail "the image holds $gold bytes"
for ((i = 1; i <= hosts; i++)); do
	come "$i"
done
[ "$(held)" -lt $((gold + hosts * 8000000)) ] || fail "clones hold too much: $(held)"
# Nobody gets at another's.
attach stranger host-1 2 && fail "host-2 has got the disk of host-1"
attach stranger "host-$((hosts + 1))" 1 &&
	fail "host-1 has made a disk for another"
grep -q 'host-' "$tmp/stranger/said" || fail "no word about it: $(cat "$tmp/stranger/said")"
builders=()
for ((i = 1; i <= hosts; i++)); do
	build "$i" &
	builders+=($!)
done
for ((i = 1; i <= hosts; i++)); do
	wait "${builders[i - 1]}" || fail "host-$i cannot build: $(cat "$tmp/host-$i/make")"
done

# Cut off, and back: each finds its own disk again.
for ((i = 1; i <= hosts; i += 2)); do
	loop_cut "host-$i"
done
for ((i = 1; i <= hosts; i += 2)); do
	come "$i"
	has "$i" first
done

# A new image under running hosts: they keep what they have, who is new gets it.
ctl load --force gold "$tmp/gold-2.img" || fail "load the new image"
has 2 first
come $((hosts + 1))
[ "$(cat "$tmp/host-$((hosts + 1))/mnt/generation")" = second ] ||
	fail "a new host has got the old image"
build $((hosts + 1)) || fail "the new host cannot build"
# Who uses which is told.
generations=$(ctl --json show gold | jq -c '[.lineage[] | {(.name): .generation}] | add')
for ((i = 1; i <= hosts + 1; i++)); do
	want=1
	[ "$i" -le "$hosts" ] || want=2
	jq -e ".\"host-$i\" == $want and .gold == 2" <<<"$generations" >/dev/null ||
		fail "generations: $generations"
done

# Saved while it is written to: of two blocks, the first is always as the second or
# one ahead, since each write waits for the one before.
NBD_TLS=$tmp/tls/admin uri=$tcp_uri peer "$tmp/pairs.img" "$nbdramctl" "$control" \
	<<'END' || fail "a save under writes"
import subprocess
file, tool, control = args
p = Peer.open(name="pairs")
number = lambda n: struct.pack(">Q", n) * 512
p.write(1 * MIB, pattern(1, 40 * MIB))
save = subprocess.Popen([tool, "-s", control, "save", "pairs", file])
n = 0
while save.poll() is None:
    n += 1
    p.write(0, number(n))
    p.write(63 * MIB, number(n))
assert save.returncode == 0 and n > 0
with open(file, "rb") as f:
    data = f.read()
assert data[MIB:41 * MIB] == pattern(1, 40 * MIB) and len(data) == 64 * MIB
second, = struct.unpack_from(">Q", data, 63 * MIB)
assert data[63 * MIB:][:4096] == number(second)
assert data[:4096] in (number(second), number(second + 1)), second
print("saved at %d of %d" % (second, n))
END

# Killed, with all of them at it, and started again: nothing that was synced is gone.
kill_nbdramd
for ((i = 1; i <= hosts + 1; i++)); do
	loop_cut "host-$i"
done
start_nbdramd --file -l "127.0.0.1:$port" -s "$control" -c "$tmp/conf"
for ((i = 1; i <= hosts + 1; i++)); do
	come "$i"
	if [ "$i" -le "$hosts" ]; then has "$i" first; else has "$i" second; fi
	loop_detach "host-$i" || fail "host-$i cannot leave"
	come "$i"
	loop_detach "host-$i" || fail "host-$i cannot leave again"
done

# Scratch is gone a moment after its last client.
attach tmp-a tmp-a 1 || fail "scratch"
loop_mount tmp-a || fail "scratch is not formatted"
loop_detach tmp-a || fail "leave the scratch"
_expired() { ! ctl list | grep -q tmp-a; }
wait_for 30 _expired || fail "scratch stays: $(ctl list)"

# All memory is somebody's. The image that the hosts still share is nobody's own, so
# what is held beyond all own is at least what the first image holds, and not more
# than both images and the slots.
ctl check || fail "check"
own=0
for ((i = 1; i <= hosts + 1; i++)); do
	one=$(disk "host-$i" | jq .own)
	[ "$one" -ge 1000000 ] || fail "host-$i has $one bytes of its own"
	own=$((own + one))
done
pairs=$(disk pairs | jq .held)
all=$(held)
rest=$((all - own - pairs))
echo "held $all: hosts' own $own, pairs $pairs, images and slots $rest (gold $gold)"
[ "$rest" -ge "$gold" ] && [ "$rest" -le $((2 * gold + (hosts + 8) * 4096)) ] ||
	fail "the sum is not what is held"
for ((i = 1; i <= hosts + 1; i++)); do
	ctl delete "host-$i" || fail "delete host-$i"
done
_back() { [ "$(held)" -le $(($(disk gold | jq .held) + pairs + 65536)) ]; }
wait_for 30 _back || fail "memory has not come back: $(held)"
stop_nbdramd
