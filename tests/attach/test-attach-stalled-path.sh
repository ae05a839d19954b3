# SPDX-License-Identifier: BSD-3-Clause
# The path to the server stalls, with a write on its way; the kernel gives the link up
# and sends the write again by another; a newer one follows; then the old path is let go
# on. What is left on it never lands on the newer data.
. ./functions.sh
. "$abs_top_srcdir/tests/attach.sh"
cp "$abs_top_srcdir/tests/attach/relay.py" "$guest_root/files/"
attach_guest t_rounds="$(scaled 20 2)" <<'END'
module drivers/block/nbd.ko
cp /files/relay.py /host/tmp/
start_server
host python3 /tmp/relay.py 10810 $port >/host/tmp/relay.log 2>&1 &
until_true 20 grep -q ready /host/tmp/relay.log || die "no relay"
listener=$(pidof python3)
attach nbd://127.0.0.1:10810/scratch --connections 2 --timeout 2
[ "$(cat /sys/block/$dev/queue/io_timeout)" = 2000 ] || die "io_timeout"

children() { pidof python3 | tr ' ' '\n' | grep -vx "$listener"; }
put() { dd if=/$1 of=/dev/$dev bs=4k count=1 oflag=direct 2>/err; }
gone() { ! kill -0 "$1" 2>/dev/null; }

round=0
while [ $round -lt "$t_rounds" ]; do
	round=$((round + 1))
	for name in old stuck new; do
		dd if=/dev/urandom of=/$name bs=4k count=1 2>/dev/null
	done
	put old || die "put old: $(cat /err)"
	stopped=$(children)
	kill -STOP $stopped
	put stuck || die "put stuck: $(cat /err)"
	put new || die "put new: $(cat /err)"
	kill -CONT $stopped
	for child in $stopped; do
		until_true 10 gone "$child" || die "the relay has not ended"
	done
	dd if=/dev/$dev of=/back bs=4k count=1 iflag=direct 2>/dev/null
	cmp -s /back /stuck && die "what was stuck has landed on newer data"
	cmp /back /new || die "neither"
	[ "$(children | wc -l)" = 2 ] || die "$(children | wc -l) connections"
	attached
done
detach
nothing_left
no_errors

# Detaching flushes, and waits for a path that stalls; by force it does not.
attach nbd://127.0.0.1:10810/scratch --connections 1 --timeout 0
stopped=$(children)
kill -STOP $stopped
host /tmp/nbdramctl detach $dev >/out 2>&1 &
waiting=$!
leaving()
{
	host /tmp/nbdramctl detach $dev >/err 2>&1 && return 1
	grep -q 'another command is at it' /err
}
until_true 10 leaving || die "detach does not wait: $(cat /out /err)"
kill -0 $waiting || die "detach does not wait: $(cat /out)"
host /tmp/nbdramctl detach --force $dev >/err 2>&1 || die "detach --force: $(cat /err)"
wait $waiting || die "detach has failed: $(cat /out)"
kill -9 $stopped
kill "$listener"
nothing_left
END
