#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a client sends cannot forge lines in the log, nor fill it: bytes that are
# not printable are escaped, long names cut, lines of one kind held back.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M 1M
peer "$(scaled 20000 1000)" <<'END' || fail "names"
for name in (b"a\nnbdramd: error: forged", b"\x1b[2J\x1b[31mred", b"\xff\xfe\x80",
             b"\r\x08\x7f", b"%s%n%d", b"\\", b'"', b"n" * 4000,
             "\u2028\u202e\u0085".encode()):
    with Peer().hello() as p:
        data = string(name) + b"\0\0"
        p.option(OPT_GO, data)
        refused(("ERR_UNKNOWN", "ERR_INVALID"), p.answers, OPT_GO, None)
p = Peer().hello()
for i in range(int(args[0])):
    refused("ERR_UNKNOWN", p.go, "name-%d" % i)
END
stop_nbdramd
[ "$(LC_ALL=C tr -d '\n -~' <"$log" | wc -c)" = 0 ] || fail "raw bytes in the log"
grep -q '^nbdramd: error' "$log" && fail "a line was forged"
grep -v '^nbdramd: ' "$log" && fail "a line of somebody else's"
grep -Eq 'nbdramd: [0-9]+ more within a second like: .*name-' "$log" ||
	fail "it is not told what was held back"
grep -q 'name-0' "$log" || fail "refusals are not told"
[ "$(wc -l <"$log")" -lt 400 ] || fail "$(wc -l <"$log") lines"
[ "$(awk '{ print length }' "$log" | sort -n | tail -n 1)" -le 1024 ] ||
	fail "a very long line"
