#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Templates that cannot be: each mistake in a line that says where.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

cd "$tmp" || fail "no temporary folder"
# template PATTERN LINE...: a file of these lines is wrong in this way.
template()
{
	local pattern=$1
	shift
	printf '%s\n' "$@" >conf
	wrong 1 "$pattern" -t -c conf
}
template 'conf:1: template "a-\*": what are its disks\? size, clone or image' \
	'[template a-*]' 'quota = 1M'
template 'a pattern has one \* at most' '[template *-*]' 'size = 1M'
template 'allow has %\*, for which a \* in the pattern' '[template a]' \
	'size = 1M' 'allow = cert:%*'
template 'size = from-name needs max-size' '[template a-*]' 'size = from-name'
template 'its guarantee is larger than its quota' '[template a-*]' 'size = 8M' \
	'quota = 1M' 'guarantee = 2M'
for rule in 'cert:' '%*/8' 'uid:x%*' 'somebody-%*' '%*, ,any' 'x'; do
	template 'conf:3: allow = .*is wanted' '[template a-*]' 'size = 1M' \
		"allow = $rule"
done
for value in 'expire = 1' 'expire = 1s' 'allow = cert:%*, psk:%* ro, uid:%*, %*' \
	'fresh = always' 'max-per-identity = 0'; do
	printf '%s\n' '[template a-%*]' 'size = 1M' "$value" >conf
	"$nbdramd" -t -c conf || fail "refused: $value"
done
template 'fresh = yes: never or always' '[template a-*]' 'size = 1M' 'fresh = yes'
template 'expire = 100ms: a time from 1s' '[template a-*]' 'size = 1M' \
	'expire = 100ms'
