#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pool folders that are refused, each with one line, and left as they are: on a disk
# (unless any-fs = yes), another's, with rights for others, a link, in use: by whom.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

new_pool
refused()
{
	wrong 1 "$@" -l "unix:$tmp/s" -m 64M 1M
	[ ! -e "$tmp/s" ] || fail "a socket was left behind"
}

mkdir -m 700 "$pool"
for mode in 0750 0701 0770 1700 0500; do
	chmod "$mode" "$pool"
	refused "$pool: the pool folder has mode $mode" -p "$pool"
done
chmod 0700 "$pool"
ln -s "$pool" "$pool.link"
refused "$pool.link: not a folder .*links" -p "$pool.link"
refused "$pool.link/: not a folder .*links" -p "$pool.link/"
ln -s "$tmp/else" "$pool/pool"
refused "$pool/pool: is a link" -p "$pool"
rm "$pool/pool"
if [ "$(id -u)" = 0 ]; then
	chown 65534 "$pool"
	refused "$pool: the pool folder belongs to user 65534" -p "$pool"
	chown 0 "$pool"
	touch "$pool/pool"
	chown 65534 "$pool/pool"
	refused "$pool/pool: belongs to another user" -p "$pool"
	rm "$pool/pool"
fi
[ -z "$(ls "$pool")" ] || fail "something was left in the folder"

# In use: by whom; also when it was handed on.
start_nbdramd -p "$pool" -m 64M 1M
refused "$pool: another process \($pid\) owns this pool" -p "$pool"
stop_nbdramd

# On something else than a tmpfs.
for folder in "$tmp" /var/tmp; do
	case $(stat -f -c %T "$folder") in
	tmpfs | hugetlbfs) continue ;;
	esac
	disk=$(mktemp -d "$folder/nbdram-test-XXXXXX") || continue
	cleanup_fn rm -rf "$disk"
	refused "$disk/p: is not in memory but on a disk.*any-fs" -p "$disk/p"
	[ ! -e "$disk/p" ] || fail "a folder was left behind"
	start_nbdramd -p "$disk/p" -o any-fs=yes -m 64M 1M
	peer <<'END' || fail "on a disk"
Peer.open().write(0, b"on a disk")
END
	stop_nbdramd
	refused "$disk/p: is not in memory but on a disk.*any-fs" -p "$disk/p"
	[ -s "$disk/p/pool" ] || fail "the pool is gone"
	exit 0
done
echo "no folder on a disk here"
