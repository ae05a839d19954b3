#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Addresses that are none, or not this host's.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 1 '127.0.0.1:99999' -l 127.0.0.1:99999 1M
wrong 1 '127.0.0.1:65536' -l 127.0.0.1:65536 1M
wrong 1 '127.0.0.1:-1' -l 127.0.0.1:-1 1M
wrong 1 '127.0.0.1:none' -l 127.0.0.1:none 1M
wrong 1 '127.0.0.1:: .*HOST:PORT' -l 127.0.0.1: 1M
wrong 1 '\[::1: .*HOST:PORT' -l '[::1' 1M
wrong 1 '\[::1\]x: .*HOST:PORT' -l '[::1]x' 1M
wrong 1 'no.such.host.invalid:1: no such address' -l no.such.host.invalid:1 1M
wrong 1 '192.0.2.1:1: .*(no such address|cannot listen)' \
	--insecure -l 192.0.2.1:1 1M
# One wrong address of several: none of them is listened to.
wrong 1 '127.0.0.1:x' -l "unix:$tmp/s" -l 127.0.0.1:x 1M
[ ! -e "$tmp/s" ] || fail "a socket was left behind"
