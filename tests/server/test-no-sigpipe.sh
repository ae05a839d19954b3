#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGPIPE is ignored from the start, whatever was inherited.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

for how in DEFAULT IGNORE; do
	start_nbdramd --with "$perl" -e "\$SIG{PIPE} = '$how'; exec(@ARGV)" -- \
		-m 64M 1M
	ignored=$(sed -n 's/^SigIgn:\s*//p' "/proc/$pid/status")
	[ $((0x$ignored >> 12 & 1)) = 1 ] || fail "SIGPIPE is not ignored"
	stop_nbdramd
done
