#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sections that there are not, twice, with a name or without one.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cd "$tmp" || fail "no temporary folder"
# section PATTERN LINE...: a file of these lines is wrong in this way.
section()
{
	local pattern=$1
	shift
	printf '%s\n' "$@" >conf
	wrong 1 "$pattern" -t -c conf
}
section 'conf:1: there is no section \[sever\]; did you mean \[server\]' \
	'[sever]' 'workers = 1'
section 'conf:1: there is no section \[Server\]; did you mean \[server\]' \
	'[Server]'
section 'no section \[disks\]; \[server\], \[pool\], \[export NAME\]' '[disks]'
section 'conf:3: \[server\] stands in line 1 already' '[server]' '' '[server]'
section 'conf:3: \[pool\] stands in line 1 already' '[pool]' 'size=1G' '[pool]'
section 'conf:3: \[export a\] stands in line 1 already' '[export a]' \
	'[export b]' '[export "a"]'
section 'conf:3: \[template a\] stands in line 1 already' '[template a]' \
	'size=1M' '[template a]'
section 'no section \[foo\]; \[server\], \[pool\]' '[foo]'
section '\[server\] takes no name' '[server a]'
section '\[pool\] takes no name' '[pool a]'
section '\[export\] needs a name' '[export]'
section '\[export\] needs a name' '[export ""]'
section '\[template\] needs a name' '[template]'
section 'no ; in names' '[export a;b]'
section 'has 1 to 255 bytes' "[export $(printf '%0256d' 0)]"
section 'the key "size" stands in front of all sections' 'size = 1G' '[pool]'

# A key's section matters.
section 'conf:2: there is no key "size" in \[server\]; it is one of \[pool\]' \
	'[server]' 'size = 1G'
section 'conf:2: there is no key "alloc" in \[pool\]; it is one of \[export\]' \
	'[pool]' 'alloc = fixed'
section 'conf:2: there is no key "expire" in \[export\]; .*\[template\]' \
	'[export a]' 'expire = 1h'

# The same section in another file is no mistake.
mkdir conf.d
printf '%s\n' '[server]' '[pool]' '[export a]' 'size = 1M' |
	tee conf >conf.d/a.conf
"$nbdramd" -t -c conf || fail "the same sections in two files"
