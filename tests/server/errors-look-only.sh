#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdramd -t refuses what a start would refuse, as far as it can be seen without a
# pool, with the place in the file; and opens nothing.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_command openssl
. "$abs_top_srcdir/tests/tls.sh"

cd "$tmp" || fail "no temporary folder"
tls_init

# conf LINE...: a configuration of these lines.
conf()
{
	printf '%s\n' "$@" >conf
}

# both PATTERN [ARGUMENT...]: with and without -t it is refused for this reason.
both()
{
	wrong 1 "$1" -t -c conf "${@:2}"
	wrong 1 "$1" -c conf -s "$tmp/control" "${@:2}"
}

# good [ARGUMENT...]: nothing is said, and nothing was made.
good()
{
	"$nbdramd" -t -c conf "$@" >out 2>&1 || fail "refused: $(cat out)"
	[ ! -s out ] || fail "something is said: $(cat out)"
	[ ! -e "$tmp/s" ] && [ ! -e "$tmp/p" ] || fail "something was made"
}

# Addresses.
conf '[export a]' 'size = 1M' '[server]' 'workers = 1' 'listen = localhost:0, :0'
both 'conf:5: :0: others than this host .*insecure = yes'
good --insecure
good -o tls=require -o "tls-dir=$tls"
both ':0: others than this host .*--insecure' -l :0
conf '[server]' 'listen = 127.0.0.1:none' '[export a]' 'size = 1M'
both 'conf:2: 127.0.0.1:none: no such address'
conf '[server]' "listen = unix:$tmp/s" '[export a]' 'size = 1M'
good

echo "no socket" >file
conf '[server]' "listen = localhost:0, unix:$tmp/file" '[export a]' 'size = 1M'
both "conf:2: unix:$tmp/file: is something else than a socket"
conf '[export a]' 'size = 1M'
wrong 1 "control socket: unix:$tmp/file: is something else" -t -c conf -s "$tmp/file"
wrong 1 "control socket: unix:$tmp/file: is something else" -c conf -s "$tmp/file" \
	-l "unix:$tmp/s" -m 64M
# Of a server that runs with the same file.
start_nbdramd -m 64M -c conf
"$nbdramd" -t -c conf -l "unix:$socket" -s "$control" >out 2>&1 ||
	fail "beside one that runs: $(cat out)"
stop_nbdramd

# Files of TLS.
conf '[server]' 'tls = require' "tls-dir = $tls" '[export a]' 'size = 1M'
good
mv "$tls/server-key.pem" key
both "tls: $tls/server-key.pem: cannot be opened"
(umask 077 && : >"$tls/server-key.pem")
both "tls: $tls/server-key.pem: "
rm "$tls/server-key.pem"
good -o tls=off
mv key "$tls/server-key.pem"
good

# Disks that cannot be made.
conf '[pool]' 'size = 64M' '[export a]' 'readonly = yes'
both 'conf:3: export a: there is no such disk yet; .*size=16G'
good -e a,size=1M
wrong 1 '-e b: export b: there is no such disk yet; .*-e b,size=16G' -t -e b
conf '[export a]' 'size = 1M' '[export b]' 'clone = a' '[export c]' 'clone = d'
both 'conf:5: export c: clone = d: there is no such disk' -m 64M
good -e d,clone=a
# A pool that lasts may have them; it is not looked at.
conf '[export a]' '[export b]' 'clone = d'
good -p "$tmp/p"

# What a template is to copy may be made by command.
conf '[export a]' 'size = 1M' '[template b*]' 'clone = a' '[template c*]' \
	'clone = d'
"$nbdramd" -t -c conf >out 2>&1 || fail "refused: $(cat out)"
grep -q 'warning: conf:5: template: clone = d: there is no .export.' out ||
	fail "no warning"
[ "$(wc -l <out)" = 1 ] || fail "other lines: $(cat out)"
good -p "$tmp/p"

# All at once.
conf '[server]' 'listen = :0' 'tls = on' "tls-dir = $tmp/none" '[export a]'
"$nbdramd" -t -c conf 2>out
[ $? = 1 ] || fail "exit status"
for what in "tls: $tmp/none" 'conf:2: :0' 'conf:5: export a'; do
	[ "$(grep -c "nbdramd: error: $what" out)" = 1 ] || fail "$what: $(cat out)"
done
[ "$(wc -l <out)" = 3 ] || fail "other lines: $(cat out)"
