#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Somebody else takes the memory of a control group, as of a host. nbdramd makes
# writers wait, or refuses, before anything is swapped or killed; reading and
# overwriting go on as fast as before; when the other leaves, writing goes on by
# itself.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/group.sh"

case $sanitizers in
?*) skip "a sanitizer takes more memory than the group has" ;;
esac
memory_group 402653184

# hog MiB: take that much, and say so.
cat >"$tmp/hog.py" <<'END'
import sys
held = [bytearray(b"x") * 2**20 for i in range(int(sys.argv[1]))]
print(len(held), flush=True)
sys.stdin.read()
END

start_nbdramd --with "${in_group[@]}" -- -o "full=wait 1m" -o warm=0 \
	-o size=512M 1G
swapped=$(awk '$1 == "pswpout" { print $2 }' /proc/vmstat)
peer "$tmp/hog.py" "${in_group[@]}" <<'END' || fail "beside a hog"
hog_program, in_group = args[0], args[1:]
N = 65536
pool = lambda: ask("show")["pool"]

def rates(p):
    """Overwriting and reading, MiB a second each."""
    started = time.monotonic()
    for at in range(0, 64 * MIB, N):
        p.write(at, pattern(at, N))
    wrote = time.monotonic()
    for at in range(0, 64 * MIB, N):
        p.read(at, N)
    return 64 / (wrote - started), 64 / (time.monotonic() - wrote)

p = Peer.open()
p.write_all([(at, pattern(at, N)) for at in range(0, 64 * MIB, N)])
quiet = rates(p)
left = pool()["headroom-left"]
assert left > 200 * MIB, pool()
hog = subprocess.Popen(
    in_group + [sys.executable, hog_program, str(left // MIB - 8)],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert int(hog.stdout.readline()) == left // MIB - 8
print("a hog took %d MiB:" % (left // MIB - 8), pool())

# A writer that takes all there is, and then waits.
w = Peer.open()
written = 0
w.s.settimeout(3)
try:
    while True:
        w.write(512 * MIB + written, b"w" * N)
        written += N
except (TimeoutError, socket.timeout):
    pass
w.s.settimeout(60)
print("%d KiB more were written" % (written // 1024), pool())
assert written <= 40 * MIB, written
beside = rates(p)
print("MiB/s, overwriting and reading: %d %d alone, %d %d beside it"
      % (quiet + beside))
assert slow or min(b / a for a, b in zip(quiet, beside)) > 0.4
assert hog.poll() is None, "the hog was killed"

# It leaves; the writer goes on by itself.
hog.stdin.close()
assert hog.wait() == 0
left = time.monotonic()
r = w.answer()
print("the writer goes on %.2f s later" % (time.monotonic() - left))
assert time.monotonic() - left < 10
for i in range(100 * MIB // N):
    w.write(512 * MIB + i * N, b"w" * N)
assert w.read(512 * MIB, N) == b"w" * N
END
[ "$(group_kills)" = 0 ] || fail "the kernel has killed somebody"
swapped=$(($(awk '$1 == "pswpout" { print $2 }' /proc/vmstat) - swapped))
[ "$(swapon --show --noheadings 2>/dev/null)" ] || swapped=0
# Of others on this host, maybe; what the group may swap is nothing.
echo "$swapped pages were swapped out on this host"
stop_nbdramd
