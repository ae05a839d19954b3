#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 10,000 idle connections, as many as descriptors allow: under 6 KiB of the
# server's memory for each, no thread for any, and who does something is served
# as before.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

# Half of them are in one process, half in another.
limit=$(ulimit -Hn)
[ "$limit" = unlimited ] && limit=1000000
n=$(scaled 10000 1000)
[ "$n" -lt $((limit - 300)) ] || n=$((limit - 300))
half=$((n / 2))
ulimit -n "$limit"
start_nbdramd --both -m 64M 1M
cat >"$tmp/idle.py" <<'END'
n, ready, go = int(args[0]), args[1], args[2]
message = struct.pack(">I", 3)
message += struct.pack(">QII", OPTION, OPT_GO, 6) + Peer.info_data("", ())
peers = []
for i in range(n):
    p = Peer(tcp_uri if i % 2 else None)
    p.send(message)
    p.hello = None
    peers.append(p)
    if len(peers) % 50 == 0:
        for q in peers[-50:]:
            q.greeting()
            q.take_info(OPT_GO)
for q in peers[n // 50 * 50:]:
    q.greeting()
    q.take_info(OPT_GO)
open(ready, "w").close()
while not os.path.exists(go):
    time.sleep(.02)
# Each is there still.
for i, p in enumerate(peers):
    if i % 50 == 0:
        p.write(0, b"x")
END
settled()
{
	local before
	before=$(grep RssAnon "/proc/$pid/status")
	sleep 0.3
	[ "$before" = "$(grep RssAnon "/proc/$pid/status")" ]
}
memory() { awk '/^RssAnon:/ { print $2 }' "/proc/$pid/status"; }
threads() { awk '/^Threads:/ { print $2 }' "/proc/$pid/status"; }
wait_for 10 settled
before=$(memory) threads=$(threads)
clients=()
for i in 1 2; do
	peer "$half" "$tmp/ready$i" "$tmp/go" <"$tmp/idle.py" &
	clients+=($!)
done
_there() { [ -e "$tmp/ready1" ] && [ -e "$tmp/ready2" ]; }
wait_for 120 _there || fail "they do not all get in"
wait_for 10 settled
after=$(memory)
each=$(((after - before) * 1024 / (2 * half)))
echo "$((2 * half)) connections: $each bytes each, $(threads) threads"
[ "$(threads)" = "$threads" ] || fail "$(threads) threads, $threads before"
[ "$sanitizers" ] || [ "$each" -lt 6144 ] || fail "$each bytes for each"
peer <<'END' || fail "one more"
p = Peer.open()
started = time.monotonic()
for i in range(1000):
    p.write(0, b"busy")
took = time.monotonic() - started
print("1000 writes beside them: %.2f s" % took)
assert took < 5
# Processor time while nobody says a word.
def used():
    return sum(int(f) for f in
               open("/proc/%s/stat" % pid).read().rsplit(")")[1].split()[11:13])
p.close()
before = used()
time.sleep(1)
print("%d ticks a second at rest" % (used() - before))
assert used() - before < 10
END
touch "$tmp/go"
for client in "${clients[@]}"; do
	wait "$client" || fail "a client"
done
