#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdramctl bench: figures that agree with each other and with what the server has
# counted, on each transport and on the peers' servers; and nothing is written unless
# that was asked for.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

requires_command nbdcopy
! "$nbdramctl" bench 2>&1 | grep -q 'built without libnbd' ||
	skip "built without libnbd"

# bench URI ARGUMENT...: as JSON, in $tmp/json; nothing else is printed.
bench()
{
	timeout -k 5 60 "$nbdramctl" --json bench --secs 0.04 "$@" \
		>"$tmp/json" 2>"$tmp/errors" </dev/null ||
		fail "bench $*: $(cat "$tmp/errors")"
	[ ! -s "$tmp/errors" ] || fail "bench $* says: $(cat "$tmp/errors")"
}

# figures NAME=VALUE...: what is in $tmp/json makes sense; members of it that must be
# so, as Python has them. $tmp/moved has the bytes that were read and written.
figures()
{
	"$python" - "$tmp/json" "$@" >"$tmp/moved" <<'END' || fail "figures: $*"
import json, sys
result = json.load(open(sys.argv[1]))
wanted = dict(pair.split("=", 1) for pair in sys.argv[2:])
stream = eval(wanted.pop("stream", "1 << 20"))
small = eval(wanted.pop("random", "4096"))
for key, value in wanted.items():
    assert result.get(key) == eval(value), (key, value, result)
assert result["complete"] and result["connections"] == 1
kinds = [(action, pattern, bytes, depth)
         for pattern, bytes, depths in (("stream", stream, (1, 8)),
                                        ("random", small, (1, 32)))
         for action in ("read", "write") for depth in depths
         if action == "read" or result["destroy"]]
rows = result["rows"]
assert kinds == [(r["action"], r["pattern"], r["bytes"], r["depth"])
                 for r in rows], rows
# The area is written once before.
moved = {"read": 0, "write": result["area"] if result["destroy"] else 0}
for r in rows:
    moved[r["action"]] += r["requests"] * r["bytes"]
    assert r["requests"] >= r["depth"], r
    # A row takes its time, and what is in flight then is waited for.
    assert 0.04 <= r["secs"] < 30, r
    assert 0 < r["average-us"] <= r["most-us"], r
    assert 0 < r["p99-us"] <= r["p999-us"] <= r["most-us"], r
    # Each of them twice, by ways of their own. Written to three decimals.
    assert abs(r["iops"] - r["requests"] / r["secs"]) <= 0.02 * r["iops"], r
    assert abs(r["mb-per-second"] - r["iops"] * r["bytes"] / 1e6) <= \
        0.001 * r["mb-per-second"] + 0.002, r
    # So many in flight for so long (Little's law): the depth, but for begin and end.
    in_flight = r["iops"] * r["average-us"] / 1e6
    assert in_flight <= r["depth"] * 1.02, (in_flight, r)
    assert in_flight >= r["depth"] * 0.5 or r["requests"] < 8 * r["depth"], r
print(moved["read"], moved["write"])
END
}

# counted READ WRITTEN: as the server has counted them.
counted()
{
	ctl stats --json | jq -e --argjson read "$1" --argjson written "$2" '
		.workers[] | select(.worker == "all") |
		.read == $read and .written == $written' >"$tmp/out" ||
		fail "the server has counted others: $(ctl stats --json)"
}

requires_command jq
start_nbdramd --both -m 128M -e a,size=32M,default -e ro,size=2M,readonly \
	-e small,size=12K -e tiny,size=100 -e none,size=1
head -c 32M /dev/urandom >"$tmp/data"
nbdcopy "$tmp/data" "$uri" || fail "nbdcopy"
read -r read0 written0 < <(ctl stats --json |
	jq -r '.workers[] | select(.worker == "all") | "\(.read) \(.written)"')

# Nothing is written unless it is to be.
bench "$uri"
figures destroy=False tls=False readonly=False "size=32 << 20" "area=32 << 20" \
	secs=0.04 block-least=1 block-preferred=4096 "payload-most=64 << 20"
read -r read written <"$tmp/moved"
counted $((read0 + read)) "$written0"
nbdcopy "$uri" "$tmp/back" && cmp "$tmp/data" "$tmp/back" ||
	fail "bench without --destroy has changed the disk"
"$nbdramctl" bench "$uri" --secs=0.04 >"$tmp/out" 2>"$tmp/errors" || fail "as a table"
[ ! -s "$tmp/errors" ] || fail "progress without a terminal"
cat "$tmp/out"
[ "$(grep -c -E '^read (1M stream|4K random) +(1|8|32)( +[0-9.]+){5}$' \
	"$tmp/out")" = 4 ] || fail "not four rows"
grep -q 'writes were not measured.*--destroy' "$tmp/out" || fail "does not say so"
bench "${uri/\?/ro?}"
figures destroy=False readonly=True "size=2 << 20"

# Everywhere else it is written.
read -r read0 written0 < <(ctl stats --json |
	jq -r '.workers[] | select(.worker == "all") | "\(.read) \(.written)"')
bench --destroy "$tcp_uri"
figures destroy=True tls=False
read -r read written <"$tmp/moved"
counted $((read0 + read)) $((written0 + written))
nbdcopy "$uri" "$tmp/back" || fail "nbdcopy"
"$python" - "$tmp/data" "$tmp/back" <<'END' || fail "what was written"
import sys
before, after = (open(name, "rb").read() for name in sys.argv[1:])
pages = [after[i:i + 4096] for i in range(0, len(after), 4096)]
changed = [page for i, page in enumerate(pages)
           if page != before[4096 * i:4096 * (i + 1)]]
# Not zeroes, and no two alike.
assert len(changed) >= 2048, len(changed)
assert len(set(changed)) == len(changed)
assert bytes(4096) not in changed
END

# Disks that are smaller than a request; an odd end is left.
bench --destroy "${uri/\?/small?}"
figures "stream=12288" random=4096 area=12288
bench --destroy "${uri/\?/tiny?}"
figures stream=100 random=100
bench --destroy "${uri/\?/none?}"
figures stream=1 random=1
stop_nbdramd

# TLS.
if command -v openssl >/dev/null; then
	. "$abs_top_srcdir/tests/tls.sh"
	tls_init
	start_nbdramd --tcp -m 64M -o tls=require -o "tls-dir=$tls" 16M
	for target in "$(tls_uri)" "$(psk_uri)"; do
		bench --destroy "$target"
		figures destroy=True tls=True
	done
	stop_nbdramd
fi

# Others, with terms of their own: block sizes, and a bound on requests.
if command -v "$nbdkit" >/dev/null; then
	free_socket
	"${nbdkit_command[@]}" -f -P "$tmp/nbdkit.pid" -U "$socket" \
		--filter=blocksize-policy memory 2M blocksize-minimum=16K \
		blocksize-preferred=32K blocksize-maximum=256K &
	cleanup_fn end_process $!
	wait_for 60 test -s "$tmp/nbdkit.pid" || fail "nbdkit"
	bench --destroy "nbd+unix:///?socket=$socket"
	figures "stream=256 << 10" "random=16 << 10" "block-least=16 << 10" \
		"payload-most=256 << 10"
fi
if command -v qemu-nbd >/dev/null; then
	free_socket
	truncate -s 2M "$tmp/disk"
	qemu-nbd -t -f raw -x a/b --pid-file="$tmp/qemu.pid" -k "$socket" \
		"$tmp/disk" &
	cleanup_fn end_process $!
	wait_for 60 test -s "$tmp/qemu.pid" || fail "qemu-nbd"
	bench --destroy "nbd+unix:///a/b?socket=$socket"
	figures destroy=True "size=2 << 20"
fi
exit 0
