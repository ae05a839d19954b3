#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files that are no configuration: empty, binary, UTF-16, with lines that have no
# end; and single lines that are none.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cd "$tmp" || fail "no temporary folder"
: >conf
wrong 1 'conf: there is nothing in it' -c conf
printf '# a comment\n\n;\n' >conf
wrong 1 'conf: there is nothing in it' -c conf
printf '[server]\nworkers = 1\0\n[nothing]\n' >conf
wrong 1 'conf:2: .*value 0; this is no text file' -c conf
printf '\xff\xfe[\0p\0o\0o\0l\0]\0\n\0' >conf
wrong 1 'conf:1: UTF-16; save it as UTF-8' -c conf
printf '[server]\nworkers = 1\e[31m\n' >conf
wrong 1 'conf:2: a control character' -c conf
{
	printf '[pool]\npath = /'
	printf '%05000d\n' 0
} >conf
wrong 1 'conf:2: longer than 4095 bytes' -c conf
head -c $((1 << 20)) /dev/zero | tr '\0' x >conf
wrong 1 'conf:1: longer than 4095 bytes' -c conf
for line in word '[pool' 'path /x' '= x' '[pool] # comment' '[]'; do
	printf '[server]\n%s\n' "$line" >conf
	wrong 1 'conf:2: ' -c conf
done
# A program, and noise: what is told is bounded.
for what in "$nbdramd" /dev/urandom; do
	head -c 500000 "$what" >conf
	"$nbdramd" -t -c conf >out 2>err
	[ $? = 1 ] || fail "exit status with binary data"
	[ "$(wc -l <err)" -le 101 ] || fail "too many lines"
	! LC_ALL=C grep -q '[^ -~]' err || fail "binary data in what is said"
done
# What DOS writes, and a mark of UTF-8.
printf '\xef\xbb\xbf[pool]\r\nsize = 1G\r\n' >conf
"$nbdramd" -t -c conf || fail "lines of DOS"
