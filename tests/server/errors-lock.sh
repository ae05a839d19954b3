#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Locked memory beyond the limit: said in one line with the limit, and nothing is
# left behind.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 'lock = 2M: yes or no is wanted' -o lock=2M 1M
# Root may lock any amount, unless it gives the right to that away.
if [ "$(id -u)" = 0 ]; then
	requires_command setpriv
	nbdramd_path=$nbdramd
	cat >"$tmp/nbdramd" <<END
#!/bin/sh
exec setpriv --bounding-set -ipc_lock "$nbdramd_path" "\$@"
END
	chmod +x "$tmp/nbdramd"
	nbdramd=$tmp/nbdramd
fi
ulimit -l 8192 || skip "the limit on locked memory cannot be set"
new_pool
wrong 1 'lock: cannot lock 64 MiB .*8192 KiB.*LimitMEMLOCK' \
	-l "unix:$tmp/s" -o lock=yes -m 64M 1M
wrong 1 'lock: cannot lock' -l "unix:$tmp/s" -o lock=yes -m 64M -p "$pool" 1M
[ ! -e "$pool" ] || fail "a folder was left behind"
[ ! -e "$tmp/s" ] || fail "a socket was left behind"
