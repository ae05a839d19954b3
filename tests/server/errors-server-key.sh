#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Keys of -o that there are not, and values that they cannot have.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 'no key "sise"; see --help' -o sise=1G 1M
wrong 2 'no key "alloc"' -o alloc=thin 1M
wrong 2 'no key ""' -o =1 1M
for key in workers max-connections max-unfinished max-per-address busy-poll; do
	for value in x -1 '' 1.5 10k 99999999999999999999; do
		wrong 2 "$key=$value: a number is wanted" -o "$key=$value" 1M
	done
	wrong 2 "$key=4294967296 is out of range" -o "$key=4294967296" 1M
done
wrong 2 'max-unfinished=0 is out of range' -o max-unfinished=0 1M
wrong 2 'workers=257 is out of range' -o workers=257 1M
for value in x -1s '' 1.5s 10h 10sec; do
	wrong 2 "handshake-timeout=$value: a time such as 10s or 500ms" \
		-o "handshake-timeout=$value" 1M
done
for value in 0 99ms 99999m; do
	wrong 2 "handshake-timeout=$value is out of range" \
		-o "handshake-timeout=$value" 1M
done
wrong 2 'insecure=perhaps: yes or no' -o insecure=perhaps 1M
for value in x -1 1GB ''; do
	wrong 2 'size.*512M or 16G' -m "$value" 1M
	wrong 2 'warm=.*512M or 16G' -o "warm=$value" 1M
done
wrong 2 'size=1 is out of range' -m 1 1M
wrong 2 'size=9T is out of range' -m 9T 1M
