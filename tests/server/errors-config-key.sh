#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Keys that there are not, twice, or with a wrong value: file and line, what is
# wanted, and all of them at once. Every key with every kind of wrong value is in
# unit/test-config-values.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cd "$tmp" || fail "no temporary folder"
key()
{
	local pattern=$1
	shift
	printf '%s\n' "$@" >conf
	wrong 1 "$pattern" -t -c conf
}
key 'conf:2: there is no key "lisen" in \[server\]; did you mean "listen"' \
	'[server]' 'lisen = localhost:1'
key 'conf:2: there is no key "colour" in \[export\]; see .*--help' \
	'[export a]' 'colour = red'
key 'conf:4: "workers" is set in line 2 already' '[server]' 'workers = 1' '' \
	'workers = 1'
key 'conf:2: workers = x: a number from 1 to 256, or auto, is wanted' \
	'[server]' 'workers = x'
key 'conf:2: workers = 2 # two: .*; a comment stands on a line of its own' \
	'[server]' 'workers = 2 # two'
key 'conf:2: size = : a size from 1M to 8T' '[pool]' 'size ='
# What a later issue brings is unknown until then.
key 'no key "metrics"' '[server]' 'metrics = localhost:9809'
key 'no key "rate"' '[export a]' 'rate = 1M'

# All at once, those of the command line too, which is what the status says then.
printf '%s\n' '[server]' 'workers = x' 'insecure = x' '[pool]' 'size = x' >conf
"$nbdramd" -t -c conf 2>err
[ $? = 1 ] || fail "exit status of three mistakes in a file"
[ "$(cut -d: -f 3-4 err)" = " conf:2
 conf:3
 conf:5" ] || fail "not each line: $(cat err)"
"$nbdramd" -t -c conf -o busy-poll=x 2>err
[ $? = 2 ] || fail "exit status with one on the command line"
[ "$(wc -l <err)" = 4 ] || fail "not four lines: $(cat err)"

# Many: all of them are told, though lines of the log are held back else.
{
	echo '[server]'
	for i in $(seq 90); do
		echo "key$i = x"
	done
} >conf
"$nbdramd" -t -c conf 2>err
[ "$(wc -l <err)" = 90 ] || fail "not ninety lines"
seq 100 | sed 's/.*/wrong/' >>conf
"$nbdramd" -t -c conf 2>err
[ "$(wc -l <err)" = 101 ] || fail "not a hundred lines and one"
tail -n 1 err | grep -q 'and 90 more' || fail "what is left out is not told"
