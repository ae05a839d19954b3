# SPDX-License-Identifier: BSD-3-Clause
# For tests of the configuration file of a server that runs. Comes after
# server.sh.
# shellcheck shell=bash

conf=$tmp/nbdram.conf

# reload: have the server read its configuration again; returns when it has, and
# what it said is in $said.
reload()
{
	local before
	before=$(wc -l <"$log")
	kill -HUP "$pid" || fail "the server is gone"
	wait_for 60 _reloaded "$before" || fail "no word about a reload"
	said=$(_said_since "$before")
	echo "$said"
}

_said_since()
{
	tail -n "+$(($1 + 1))" "$log"
}

_reloaded()
{
	_said_since "$1" | grep -Eq 'reload: (done|nothing was changed)'
}

# reload_good PATTERN...: it must be done, and each pattern (of grep -E) be in
# the report.
reload_good()
{
	reload
	grep -q 'reload: done' <<<"$said" || fail "the reload was not done"
	_reload_says "$@"
}

# reload_bad PATTERN...: nothing must be changed, and each pattern be in a line
# of its own.
reload_bad()
{
	local lines
	reload
	grep -q 'reload: nothing was changed' <<<"$said" ||
		fail "a reload that should have failed was done"
	lines=$(grep -c 'reload: ' <<<"$said")
	[ "$lines" = $(($# + 1)) ] || fail "$lines lines for $# mistakes"
	_reload_says "$@"
}

_reload_says()
{
	local pattern
	for pattern; do
		grep -Eq "reload: .*($pattern)" <<<"$said" ||
			fail "no '$pattern' in the report"
	done
}
