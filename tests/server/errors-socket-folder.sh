#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A folder in which we may not make a socket.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_root
requires_command setpriv
[ -z "$sanitizers" ] || skip "sanitizers look into folders of the build"

chmod 755 "$tmp"
cp "$nbdramd" "$tmp/nbdramd"
mkdir -m 755 "$tmp/closed"
mkdir -m 700 "$tmp/hidden"
nbdramd=$tmp/nbdramd
mkdir -m 1777 "$tmp/open"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$nbdramd" "$@"; }
cat >"$tmp/as-nobody" <<END
#!/bin/bash
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$nbdramd" "\$@"
END
chmod 755 "$tmp/as-nobody"
nbdramd=$tmp/as-nobody
for folder in closed hidden; do
	wrong 1 "unix:$tmp/$folder/s: .*ermission" -l "unix:$tmp/$folder/s" 1M
done
# A dead socket of somebody else, which cannot be replaced.
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1)' \
	"$tmp/open/s"
[ -S "$tmp/open/s" ] || fail "no socket"
wrong 1 "unix:$tmp/open/s: .*(ermission|not permitted|another)" \
	-l "unix:$tmp/open/s" 1M
[ -S "$tmp/open/s" ] || fail "the socket is gone"
# Ports below 1024 too.
if [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 80 ]; then
	wrong 1 '127.0.0.1:80: .*ermission' -l 127.0.0.1:80 1M
fi
