# SPDX-License-Identifier: BSD-3-Clause
# For tests of nbdramd: our own client, starts that must fail. Comes after
# functions.sh.
# shellcheck shell=bash

[ -x "$nbdramd" ] || skip "$nbdramd has not been built"

# peer [ARGUMENT...]: run the Python program on standard input with all of
# peer.py, for the server at $uri. In it: args, the arguments; uri; pid, the
# server's process; server, "nbdramd" or "nbdkit"; nbdkit(KEY), see below;
# slow, true if the server is slow because of a sanitizer; scale; and all of
# control.py, for the server at $control.
peer()
{
	NBD_URI=${uri:-} tcp_uri=${tcp_uri:-} PYTHONDONTWRITEBYTECODE=1 \
		NBDRAM_CONTROL=${control:-} NBDRAMCTL=$nbdramctl "$python" -c '
import sys
sys.path[:0] = sys.argv[1:3]
import socket
from peer import *
from control import *
from nbdkit_differs import DIFFERS
uri = os.environ["NBD_URI"]
server, pid, slow, args = (sys.argv[3], sys.argv[4], bool(sys.argv[5]),
                           sys.argv[6:])
tcp_uri = os.environ.get("tcp_uri") or None
random.seed(int(os.environ["NBDRAM_TEST_SEED"]))
scale = float(os.environ["NBDRAM_TEST_SCALE"])

def nbdkit(key):
    assert key in DIFFERS, key
    return server == "nbdkit"

exec(compile(sys.stdin.read(), "test", "exec"))' \
		"$abs_top_srcdir/tests" "$abs_top_srcdir/tests/server" \
		"${server:-nbdramd}" "${pid:-0}" "$sanitizers" "$@"
}

# everywhere PROGRAM_ARGUMENT... <PROGRAM: run it by peer() with nbdramd on a
# Unix socket, the same on TCP, and the plugin under nbdkit; each has 64 MiB of
# memory and a disk of $size (16M).
everywhere()
{
	local server size=${size:-16M}
	cat >"$tmp/program.py"
	start_nbdramd --both -m 64M "$size"
	peer "$@" <"$tmp/program.py" || fail "on a Unix socket"
	uri=$tcp_uri peer "$@" <"$tmp/program.py" || fail "on TCP"
	stop_nbdramd
	everywhere_tls "$@"
	command -v "$nbdkit" >/dev/null && [ -f "$plugin" ] || return 0
	case $sanitizers in
	*thread*) return 0 ;;
	esac
	start_nbdkit "$size" memory=64M
	server=nbdkit pid=$nbdkit_pid peer "$@" <"$tmp/program.py" ||
		fail "the plugin under nbdkit"
	case $sanitizers in
	?*)
		# It may hang at its exit then; see exit-at-once.c.
		kill -KILL "$nbdkit_pid"
		;;
	*) stop_nbdkit || fail "nbdkit: exit status $?" ;;
	esac
}

# The same inside of TLS, if there is openssl: where it may be had and where it
# must. A program that TLS changes has tls=no in front.
everywhere_tls()
{
	local mode modes='on require'
	[ "${tls:-}" != no ] && command -v openssl >/dev/null || return 0
	. "$abs_top_srcdir/tests/tls.sh"
	tls_init
	# One of them shows a sanitizer all that it is to see.
	[ ! "$sanitizers" ] || modes=require
	for mode in $modes; do
		start_nbdramd --tcp -m 64M -o "tls=$mode" -o "tls-dir=$tls" \
			"$size"
		NBD_TLS=$tls_client peer "$@" <"$tmp/program.py" ||
			fail "inside of TLS (tls=$mode)"
		stop_nbdramd
	done
}

# wrong STATUS PATTERN ARGUMENT...: nbdramd with these arguments must not start,
# but end with this status (1: it could not; 2: usage) and one line on standard
# error that matches the pattern (of grep -E). What it printed is in $tmp/wrong.
# It has a control socket of its own, unless one is named or a file is read.
wrong()
{
	local want=$1 pattern=$2 status own=()
	shift 2
	case " $* " in
	*' -s '* | *' -c '* | *[' ,=']control=*) ;;
	*) own=(-s "$tmp/control") ;;
	esac
	timeout -k 5 20 "$nbdramd" "${own[@]}" "$@" >"$tmp/out" \
		2>"$tmp/wrong" </dev/null
	status=$?
	cat "$tmp/out" "$tmp/wrong"
	[[ $status = $want ]] || fail "exit status $status with: $*"
	[ ! -s "$tmp/out" ] || fail "something on standard output with: $*"
	[ "$(wc -l <"$tmp/wrong")" = 1 ] || fail "not one line with: $*"
	grep -Eq "^[^ ]*nbdramd: .*($pattern)" "$tmp/wrong" ||
		fail "no '$pattern' in what was said about: $*"
}

# slow_files: build $tmp/slow.so, to be loaded ahead of nbdramd; see slow-files.c.
slow_files()
{
	[ ! "$sanitizers" ] ||
		skip "something has to be loaded ahead of the sanitizer"
	$cc -shared -fPIC -O1 -o "$tmp/slow.so" \
		"$abs_top_srcdir/tests/slow-files.c" ||
		fail "cannot build slow-files.so"
}

# new_pool: set $pool to the path of a folder that is not there yet, on a tmpfs.
new_pool()
{
	local parent
	parent=$(mktemp -d /dev/shm/nbdram-test-XXXXXX 2>/dev/null) ||
		skip "no tmpfs at /dev/shm"
	cleanup_fn rm -rf "$parent"
	# shellcheck disable=SC2034
	pool=$parent/p
}
