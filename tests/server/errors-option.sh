#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Options that there are not, or without what belongs to them; nothing to serve.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 "unrecognized option '--foo'" --foo 1M
wrong 2 "invalid option -- 'x'" -x 1M
wrong 2 "requires an argument -- 'e'" 1M -e
wrong 2 "requires an argument -- 'l'" 1M -l
wrong 2 "doesn't allow an argument" --insecure=no 1M
wrong 2 "requires an argument -- 'c'" 1M -c

# Without disks it is the file of this host that counts.
file=$("$nbdramd" --help | grep '^/.*/nbdram.conf$') || fail "no file in --help"
if [ ! -e "$file" ]; then
	wrong 2 "nothing to serve: give a SIZE.*-e.*-c; $file is not there"
	wrong 2 'nothing to serve' -m 1G
	wrong 2 'nothing to serve' -l localhost:0
	wrong 2 'nothing to serve' -t
fi

# -t looks at all of it and opens nothing.
"$nbdramd" -t -l "unix:$tmp/s" -p "$tmp/pool" 1M >"$tmp/out" 2>&1 ||
	fail "-t: exit status $?"
[ ! -e "$tmp/s" ] && [ ! -e "$tmp/pool" ] || fail "-t has made something"
wrong 2 'no key' -t -o nothing=1 1M
