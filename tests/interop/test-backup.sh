#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The incremental backup of nbdramctl(1), word for word from the manual, of a disk
# that is written to and trimmed all the while; each day is restored and is as its
# snapshot. The increments are as small as what has changed.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_python_libnbd
requires_command nbdinfo nbdcopy qemu-img qemu-io jq cmp

cd "$tmp" || fail "no temporary folder"
start_nbdramd --tcp -m 1G -e scratch,size=1G

# recipe HEADING: run what stands below it.
recipe()
{
	awk -v heading="=head2 $1" '
		/^=head/ { on = $0 == heading }
		on && /^ / { print substr($0, 2) }' \
		"$abs_top_srcdir/man/nbdramctl.pod" |
		sed -e "s,localhost\(/\|:10809/\),127.0.0.1:$port/,g" \
			-e "s/server.host=localhost,server.port=10809/server.host=127.0.0.1,server.port=$port/" \
			>recipe
	[ -s recipe ] || fail "the manual has nothing under '$1'"
	# In it nbdramctl is ours, and nbdsh has the Python of these tests.
	printf 'set -e -o pipefail\nnbdramctl() { "%s" -s "%s" "$@"; }\nnbdsh() { "%s" -m nbd "$@"; }\n' \
		"$nbdramctl" "$control" "$python" | cat - recipe >run
	cat run
	bash run || fail "$1"
}

# write SEED COUNT: so many changes, in pieces of any size at any place.
write()
{
	peer "$@" <<'END' || fail "writing"
r = random.Random(int(args[0]))
with Peer.open("simple", name="scratch") as p:
    for i in range(int(args[1])):
        at, n = r.randrange(2**30 - 200000), r.randrange(1, 200000)
        if i % 4 == 3:
            p.trim(at, n)
        else:
            p.write(at, r.randbytes(n))
END
}

export uri=$tcp_uri
write 1 300
recipe "All of it, once"
# A writer that goes on from now to the end.
touch go
while [ -e go ]; do
	write $RANDOM 20
done &
writer=$!
cleanup_fn rm -f "$tmp/go"
write 2 30
cp --sparse=always scratch.img before.img
recipe "What has changed since, into the copy"
cmp -s before.img scratch.img && fail "nothing has changed"
nbdcopy "$uri/tuesday" tuesday.img || fail "nbdcopy"
cmp scratch.img tuesday.img || fail "the copy is not as the disk on Tuesday"
# Some changes are not the whole disk.
awk '$3 { n += $2 } END { print n; exit n < 1 || n > 2^29 }' changes ||
	fail "what nbdinfo calls changed"
write 3 30
recipe "What has changed since, beside the copy"
nbdcopy "$uri/wednesday" wednesday.img || fail "nbdcopy"
qemu-img compare -f raw -F qcow2 wednesday.img wednesday.qcow2 ||
	fail "the overlay is not as the disk on Wednesday"
[ "$(stat -c %s wednesday.qcow2)" -lt $((200 << 20)) ] ||
	fail "the overlay has everything"
recipe "Restoring"
rm -f go
wait "$writer"
for day in tuesday wednesday; do
	nbdcopy "$uri/$day-again" again.img || fail "nbdcopy"
	cmp "$day.img" again.img || fail "$day is another"
done
"$nbdramctl" -s "$control" check || fail "check"
stop_nbdramd
