#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A tmpfs of the pool's own: one that is empty begins a new pool; one that is too
# small for what was asked for is noticed at start; one that is missing too, where
# the folder is on a disk then; it fills up, its file is removed while the daemon
# runs, it is mounted anew.
if [ "${1:-}" != inside ] && unshare -m true 2>/dev/null; then
	# Mounts of our own, gone with this process.
	exec unshare -m --propagation private bash "$0" inside
fi
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_root
requires test "${1:-}" = inside

folder=$tmp/pool
mkdir -m 700 "$folder"
new_mount()
{
	mount -t tmpfs -o "mode=0700,size=$1" nbdram-test "$folder" ||
		skip "no tmpfs can be mounted"
}
cleanup_fn eval "umount '$folder' 2>/dev/null"

case $(stat -f -c %T "$tmp") in
tmpfs) ;;
*)
	wrong 1 "$folder: is not in memory but on a disk: nothing is mounted" \
		-l "unix:$tmp/s" -p "$folder" -m 64M 1M
	[ -z "$(ls "$folder")" ] || fail "something was left in the folder"
	;;
esac

new_mount 16M
wrong 1 "$folder: the file system can hold 1[56] MiB of the pool's 64" \
	-l "unix:$tmp/s" -p "$folder" -m 64M 1M
[ -z "$(ls "$folder")" ] || fail "something was left in the folder"
# Unless a size is asked for by name it is what there is; and when another fills
# it up, a write fails, and nothing else.
start_nbdramd -p "$folder" -o full=error 64M
peer "$folder" <<'END' || fail "a full tmpfs"
with Peer.open() as p:
    p.write(0, b"kept" * 25600)
    with open(args[0] + "/other", "wb", 0) as f:
        try:
            while True:
                f.write(bytes(65536))
        except OSError:
            pass
    errors = 0
    for i in range(1, 64):
        try:
            p.write(i * MIB, bytes([i]) * 65536)
        except Refused as e:
            assert e.name == "ENOSPC", e
            errors += 1
    assert errors
    assert p.read(0, 102400) == b"kept" * 25600
    os.unlink(args[0] + "/other")
    def fits():
        try:
            p.write(63 * MIB, b"x" * 65536)
            return True
        except Refused:
            return False
    assert eventually(20, fits)
END
kill_nbdramd
start_nbdramd -p "$folder" 64M
peer <<'END' || fail "after a kill"
with Peer.open() as p:
    assert p.read(0, 102400) == b"kept" * 25600
    p.write(2 * MIB, b"more")
END
# Its file removed: it goes on with what it has; the next one begins anew.
rm "$folder/pool"
peer <<'END' || fail "without its file"
with Peer.open() as p:
    assert p.read(2 * MIB, 4) == b"more"
    p.write(3 * MIB, b"and more")
    assert p.read(3 * MIB, 8) == b"and more"
END
stop_nbdramd
start_nbdramd -p "$folder" 64M
peer <<'END' || fail "a new pool"
with Peer.open() as p:
    assert not any(p.read(0, 102400))
    p.write(0, b"second")
END
stop_nbdramd
# Smaller than what is in it, after a remount: said, and nothing is lost.
wrong 1 "$folder: the file system can hold 1[56] MiB of the pool's 64" \
	-l "unix:$tmp/s" -p "$folder" -m 64M 64M
umount "$folder" || fail "umount"
new_mount 32M
start_nbdramd -p "$folder" 64M
peer <<'END' || fail "mounted anew"
assert not any(Peer.open().read(0, 102400))
END
stop_nbdramd
