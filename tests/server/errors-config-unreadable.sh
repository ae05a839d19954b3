#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Configuration files that we may not read.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_root
requires_command setpriv
[ -z "$sanitizers" ] || skip "sanitizers look into folders of the build"

chmod 755 "$tmp"
cp "$nbdramd" "$tmp/nbdramd"
cat >"$tmp/as-nobody" <<END
#!/bin/bash
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/nbdramd" "\$@"
END
chmod 755 "$tmp/as-nobody"
nbdramd=$tmp/as-nobody
mkdir -m 755 "$tmp/etc" "$tmp/etc/conf.d"
main=$tmp/etc/nbdram.conf
echo '[pool]' >"$main"
chmod 644 "$main"
"$nbdramd" -t -c "$main" || fail "-t"
chmod 600 "$main"
wrong 1 "$main: .*Permission denied" -t -c "$main"
chmod 644 "$main"
echo '[pool]' >"$tmp/etc/conf.d/a.conf"
chmod 600 "$tmp/etc/conf.d/a.conf"
wrong 1 "conf.d/a.conf: .*Permission denied" -t -c "$main"
chmod 700 "$tmp/etc/conf.d"
wrong 1 "conf.d: .*Permission denied" -t -c "$main"
