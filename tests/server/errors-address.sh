#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Addresses that are none, or not this host's.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for address in 127.0.0.1:99999 127.0.0.1:65536 127.0.0.1:-1 127.0.0.1: \
		'[::1' '[::1]x' '[]:1' ::1 : '' 'a b:1' $'a:1\n'; do
	wrong 2 '-l .*: no address; HOST:PORT' -l "$address" 1M
	wrong 2 '-o: listen = .*HOST:PORT.* is wanted' -o "listen=$address" 1M
done
wrong 2 'listen = ' -o 'listen=localhost:1,,localhost:2' 1M
wrong 2 'listen = ' -o 'listen=localhost:1,' 1M
wrong 1 '127.0.0.1:none' -l 127.0.0.1:none 1M
wrong 1 'no.such.host.invalid:1: no such address' -l no.such.host.invalid:1 1M
wrong 1 '192.0.2.1:1: .*(no such address|cannot listen)' \
	--insecure -l 192.0.2.1:1 1M
# One wrong address of several: none of them is listened to.
wrong 1 '127.0.0.1:x' -l "unix:$tmp/s" -l 127.0.0.1:x 1M
[ ! -e "$tmp/s" ] || fail "a socket was left behind"
