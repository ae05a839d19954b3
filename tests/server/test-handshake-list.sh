#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# LIST with one, three and 200 exports: by hand, and by the clients that people
# use. An ABORT is answered.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
PATH=$PATH:/usr/sbin:/sbin

for n in 1 3 200; do
	exports=()
	for ((i = 0; i < n; i++)); do
		exports+=(-e "disk-$i,size=$((i + 1))M")
	done
	start_nbdramd --both -m 64M "${exports[@]}"
	for at in "$uri" "$tcp_uri"; do
		uri=$at peer "$n" <<'END' || fail "$n exports"
n = int(args[0])
with Peer().hello() as p:
    for round in range(3):
        found = p.list()
        assert [name for name, text in found] == \
            ["disk-%d" % i for i in range(n)], found
        assert all("uuid=" in text for name, text in found)
        assert len(set(text for name, text in found)) == n
    # Taking them by name; none is the default.
    refused("ERR_UNKNOWN", p.go, "")
    for i in range(n):
        assert p.ask_info("disk-%d" % i).size == (i + 1) * MIB
    p.abort()
# LIST of one who does not listen is not kept for him for ever.
with Peer() as p:
    try:
        p.s.settimeout(5)
        p.send(struct.pack(">I", 3) +
               struct.pack(">QII", OPTION, OPT_LIST, 0) * 2000)
    except OSError:
        pass
END
	done
	if command -v nbdinfo >/dev/null && command -v jq >/dev/null; then
		[ "$(nbdinfo --list --json "$uri" | jq '.exports | length')" = "$n" ] ||
			fail "nbdinfo --list: not $n exports"
	fi
	if command -v qemu-nbd >/dev/null; then
		qemu-nbd --list --socket="$socket" >"$tmp/list" ||
			fail "qemu-nbd --list"
		[ "$(grep -c "export: 'disk-" "$tmp/list")" = "$n" ] ||
			fail "qemu-nbd --list: $(cat "$tmp/list")"
	fi
	if command -v nbd-client >/dev/null; then
		nbd-client -l 127.0.0.1 "$port" >"$tmp/list" 2>&1 ||
			fail "nbd-client -l: $(cat "$tmp/list")"
		[ "$(grep -c '^disk-' "$tmp/list")" = "$n" ] ||
			fail "nbd-client -l: $(cat "$tmp/list")"
	fi
	stop_nbdramd
done
