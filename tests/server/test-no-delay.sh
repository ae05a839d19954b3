#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Small replies do not wait in the kernel: TCP_NODELAY is set on TCP.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_command strace
[ -z "$sanitizers" ] || skip "strace and sanitizers do not go together"

requires strace -o "$tmp/try" true
start_nbdramd --tcp --with strace -D -f -e trace=setsockopt -o "$tmp/trace" -- \
	-m 64M 1M
peer <<'END'
Peer.open().write(0, b"x")
END
stop_nbdramd
grep -q 'TCP_NODELAY, \[1\]' "$tmp/trace" || fail "TCP_NODELAY is not set"
grep -q 'SO_KEEPALIVE, \[1\]' "$tmp/trace" || fail "SO_KEEPALIVE is not set"
