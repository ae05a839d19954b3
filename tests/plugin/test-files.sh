#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# image= and save=: a new disk is loaded from the one, or from the other if it is there;
# and saved to it when nbdkit ends, also in the background, by names of the folder where
# it was started. A disk that the pool holds is not loaded again.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

requires_command zstd
mkdir "$tmp/files"
"$python" - "$tmp/files" <<'END'
import random, sys
with open(sys.argv[1] + "/first.img", "wb") as f:
    f.write(random.Random(1).randbytes(1 << 20))
    f.truncate(5 << 20)
END
zstd -q "$tmp/files/first.img" -o "$tmp/files/first.zst"

for image in first.img first.zst; do
	start_nbdkit image="$tmp/files/$image" save="$tmp/files/saved.img" memory=64M
	client <<'END' || fail "loaded from $image"
import random
assert h.get_size() == 5 << 20
assert h.pread(2 << 20, 0) == random.Random(1).randbytes(1 << 20) + bytes(1 << 20)
h.pwrite(b"written", 3 << 20)
END
	[ ! -e "$tmp/files/saved.img" ] || fail "saved before the end"
	stop_nbdkit || fail "exit status $?"
	[ "$(stat -c %s "$tmp/files/saved.img")" = 5242880 ] || fail "nothing was saved"
	start_nbdkit 6M image="$tmp/missing" save="$tmp/files/saved.img" memory=64M
	client <<'END' || fail "loaded from what was saved"
import random
assert h.get_size() == 6 << 20
assert h.pread(1 << 20, 0) == random.Random(1).randbytes(1 << 20)
assert h.pread(7, 3 << 20) == b"written" and h.pread(7, (6 << 20) - 7) == bytes(7)
END
	stop_nbdkit || fail "exit status $?"
	[ "$(stat -c %s "$tmp/files/saved.img")" = 6291456 ] || fail "not saved with its size"
	rm "$tmp/files/saved.img"
done

# A relative name, for one that goes to the background.
(cd "$tmp/files" && "${nbdkit_command[@]}" -U "$tmp/socket" -P "$tmp/pid" "$plugin" 1M \
	save=own.zst memory=64M) || fail "it does not start"
wait_for 60 [ -s "$tmp/pid" ] || fail "no pid"
uri="nbd+unix:///?socket=$tmp/socket"
client <<'END' || fail "in the background"
h.pwrite(b"here", 4096)
END
background=$(cat "$tmp/pid")
kill -TERM "$background"
wait_for 60 eval '! kill -0 "$background" 2>/dev/null' || fail "it does not end"
zstd -dc "$tmp/files/own.zst" | head -c 4100 | tail -c 4 | grep -q here || fail "not saved"

# What the pool holds comes first, and alloc=fixed has the size of the image.
new_pool
start_nbdkit image="$tmp/files/first.img" alloc=fixed pool="$pool" memory=64M
client <<'END' || fail "in a pool"
h.pwrite(b"kept", 0)
END
stop_nbdkit || fail "exit status $?"
start_nbdkit image="$tmp/files/first.zst" pool="$pool" memory=64M
client <<'END' || fail "again"
assert h.get_size() == 5 << 20 and h.pread(4, 0) == b"kept"
END
stop_nbdkit || fail "exit status $?"
ls "$tmp/files" | grep tmp && fail "something is left"
true
