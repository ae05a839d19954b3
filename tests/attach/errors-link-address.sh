# SPDX-License-Identifier: BSD-3-Clause
# Links to where no server is.
. ./functions.sh
. "$abs_top_srcdir/tests/attach/link.sh"

free_port
no_link ECONNREFUSED "127.0.0.1:$port/x: cannot connect: Connection refused; is the server running" \
	"nbd://127.0.0.1:$port/x"
no_link ENOENT 'no-such-host.invalid:10809/: there is no such host|EAGAIN' \
	nbd://no-such-host.invalid/
free_socket
no_link ENOENT "unix:$socket/: cannot connect: No such file.*is the server running" \
	"nbd+unix:///?socket=$socket"
: >"$socket"
no_link ECONNREFUSED 'is the server running, with this socket' "nbd+unix:///?socket=$socket"
no_link EINVAL "a socket's path has at most" \
	"nbd+unix:///?socket=/$(printf '%0200d' 0)"
no_link EINVAL 'is no NBD URI' "$socket"

# Who does not answer has the time that he is given, no more.
start_liar full
start=$(date +%s%N)
no_link ETIMEDOUT 'cannot connect: Connection timed out; is the host up' \
	-t 400 "nbd://127.0.0.1:$liar/"
took=$((($(date +%s%N) - start) / 1000000))
[ "$took" -ge 400 ] || fail "$took ms"
[ "$took" -lt 5000 ] || fail "$took ms"
no_link ECANCELED 'given up' -c "nbd://127.0.0.1:$liar/" </dev/null
