#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --dump-plugin and --help tell about the plugin and make no pool.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

new_pool
"${nbdkit_command[@]}" "$plugin" --dump-plugin 1T pool="$pool" alloc=fixed \
	>"$tmp/dump" || fail "--dump-plugin: exit status $?"
cat "$tmp/dump"
for line in name=ram magic_config_key=size max_thread_model=parallel \
		thread_model=parallel ram_block=4096 ram_alloc=thin,fixed \
		ram_disk_max=9223372036854775807 ram_disk_name=default; do
	grep -qx "$line" "$tmp/dump" || fail "no line '$line'"
done
grep -q '^version=[0-9]' "$tmp/dump" || fail "no version"

"${nbdkit_command[@]}" "$plugin" --help >"$tmp/help" ||
	fail "--help: exit status $?"
cat "$tmp/help"
for key in size alloc memory pool clone=per-connection; do
	grep -q "$key" "$tmp/help" || fail "--help does not mention $key"
done
[ ! -e "$pool" ] || fail "a pool was made"
