#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The plugin defines one name for others to see, and needs nothing but the C
# library, zstd and nbdkit.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"
requires_command nm
[ -z "$sanitizers" ] || skip "a sanitizer brings names of its own"

defined=$(nm -D --defined-only "$plugin" | awk '{ print $NF }' | sort)
[ "$defined" = plugin_init ] || fail "it exports: $defined"

foreign=$(nm -D --undefined-only "$plugin" | awk '{ print $NF }' |
	grep -v '@GLIBC' |
	grep -Ev '^(nbdkit_[a-z_]*|ZSTD_[A-Za-z0-9_]*|__gmon_start__|_ITM_.*)$')
[ -z "$foreign" ] || fail "it wants: $foreign"
