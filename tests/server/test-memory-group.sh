#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In a control group of 256 MiB: a disk of 1 GiB takes what there is, then writes end
# in ENOSPC, the server lives and is not killed, a trim makes room again. So it is for
# a pool of the size that follows from the limit, and for one that is larger than
# that.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/group.sh"

case $sanitizers in
?*) skip "a sanitizer takes more memory than the group has" ;;
esac
memory_group 268435456

cat >"$tmp/fill.py" <<'END'
N = 262144
p = Peer.open()
for round in range(int(args[0])):
    written = 0
    try:
        while True:
            p.write(written, pattern(written, N))
            written += N
    except Refused as e:
        assert e.name == "ENOSPC", e
    print("%d MiB were written" % (written // MIB), ask("show")["pool"])
    assert 160 * MIB < written < 256 * MIB, written
    for at in range(0, written, N):
        assert p.read(at, N) == pattern(at, N), at
    for at in range(0, written, 4 * N):
        p.write(at, pattern(at + 1, N))
    if round == 0:
        # Half of it, and it is there again at once.
        p.trim(0, written // 2)
        for at in range(0, written // 4 * 1, N):
            p.write(at, pattern(at, N))
    p.trim(0, 2**30)
p.flush()
END

for size in auto 1G; do
	rounds=3
	[ "$size" = auto ] || rounds=$(scaled 3 1)
	start_nbdramd --with "${in_group[@]}" -- -o "full=wait 1s" \
		-o "size=$size" 1G
	grep -q nbdram-test "/proc/$pid/cgroup" || fail "it is not in the group"
	peer "$rounds" <"$tmp/fill.py" || fail "size = $size"
	stop_nbdramd
	[ "$(group_kills)" = 0 ] || fail "the kernel has killed somebody"
done
wrong 1 'the pool .* has not got the memory|cannot be made' \
	-l "unix:$tmp/s" -e a,size=9T,alloc=fixed
