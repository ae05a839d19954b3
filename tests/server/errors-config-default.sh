#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Settings that do not go together: two exports for clients that name none,
# promises that cannot be kept.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cd "$tmp" || fail "no temporary folder"
printf '%s\n' '[export a]' 'size = 1M' 'default = yes' '[export b]' \
	'size = 1M' 'default = yes' >conf
wrong 1 'conf:4: export "b": there can be one default, and "a" is it \(conf:1\)' \
	-c conf
printf '%s\n' '[export a]' 'size = 1M' 'default = yes' >conf
wrong 1 'SIZE: export "default": there can be one default, and "a"' -c conf 1M
wrong 1 '-e b: export "b": there can be one default' -c conf -e b,size=1M,default
"$nbdramd" -t -c conf -e b,size=1M,default -e a,default=no ||
	fail "another one instead"
printf '%s\n' '[export a]' 'size = 1M' 'quota = 1M' 'guarantee = 2M' >conf
wrong 1 'conf:1: export "a": its guarantee is larger than its quota' -c conf
printf '%s\n' '[export a]' 'size = 4M' 'quota = 1M' 'alloc = fixed' >conf
wrong 1 'conf:1: export "a": alloc = fixed .* quota is smaller' -c conf

# One socket for clients and for nbdramctl.
printf '%s\n' '[server]' "listen = localhost:0, unix:$tmp/s" "control = $tmp/s" \
	'[export a]' 'size = 1M' >conf
wrong 1 "conf:2: unix:$tmp/s: is the control socket, too" -c conf
wrong 2 "unix:$tmp/s: is the control socket, too" -l "unix:$tmp/s" -s "$tmp/s" 1M
