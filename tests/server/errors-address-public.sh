#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Without TLS others than this host may not be let in, unless told so.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_command hostname

addresses=(:0 0.0.0.0:0 '[::]:0')
for address in $(hostname -I 2>/dev/null); do
	case $address in
	127.* | *:*) ;;
	*) addresses+=("$address:0") ;;
	esac
done
for address in "${addresses[@]}"; do
	wrong 1 'localhost.*--insecure' -l "$address" 1M
done
# Beside one that is fine too, and said by a key.
wrong 1 '--insecure' -l localhost:0 -o listen=0.0.0.0:0 1M
wrong 1 '--insecure' -o insecure=no -l 0.0.0.0:0 1M
for how in --insecure '-o insecure=yes' '-o insecure'; do
	# shellcheck disable=SC2086
	start_nbdramd --tcp $how -l 0.0.0.0:0 -m 64M 1M
	grep -q 'listening to 0.0.0.0:' "$log" || fail "$how does not help"
	stop_nbdramd
done
# The whole of 127.0.0.0/8 is this host.
start_nbdramd --tcp -l 127.1.2.3:0 -m 64M 1M
