#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Keys of -o that there are not, and values that they cannot have.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 'no key "sise" .*did you mean "size"' -o sise=1G 1M
wrong 2 'no key "wrokers" .*did you mean "workers"' -o wrokers=1 1M
wrong 2 'no key "max_connections" .*did you mean "max-connections"' \
	-o max_connections=1 1M
wrong 2 'no key "colour" .*see .*--help' -o colour=red 1M
wrong 2 'no key "alloc" .*it is one of \[export\]' -o alloc=thin 1M
wrong 2 'no key ""' -o =1 1M
for key in workers max-connections max-unfinished max-per-address busy-poll; do
	for value in x -1 '' 1.5 10k 4294967296 99999999999999999999; do
		wrong 2 "-o: $key = $value: a number from [01] to [0-9]*.* is wanted" \
			-o "$key=$value" 1M
	done
done
wrong 2 'max-unfinished = 0: a number from 1 to 10000000' -o max-unfinished=0 1M
wrong 2 'workers = 257: a number from 1 to 256, or auto' -o workers=257 1M
for value in x -1s '' 1.5s 10h 10sec 0 99ms 99999m; do
	wrong 2 "handshake-timeout = $value: a time from 100ms to 1h such as 10s or 500ms" \
		-o "handshake-timeout=$value" 1M
done
wrong 2 'insecure = perhaps: yes or no' -o insecure=perhaps 1M
for value in x -1 1GB '' 9T; do
	wrong 2 '-m: size = .*from 1M to 8T such as 512M or 16G, or auto' \
		-m "$value" 1M
	wrong 2 'warm = .*from 0 to 8T such as 512M or 16G' -o "warm=$value" 1M
done
wrong 2 'size = 1: a size from 1M to 8T' -m 1 1M
wrong 2 '-s: control = : a path of 1 to 107 bytes' -s '' 1M
wrong 2 '-s: control = 0.*: a path of 1 to 107 bytes' \
	-s "$(printf '%0108d' 0)" 1M
wrong 2 '-o: path = : a path' -o path= 1M
# Every mistake has a line.
"$nbdramd" -t -o workers=x -o insecure=x -e a,size=x -l : 1 2>"$tmp/all"
[ $? = 2 ] || fail "exit status with several mistakes"
[ "$(wc -l <"$tmp/all")" = 4 ] || fail "not four lines: $(cat "$tmp/all")"
