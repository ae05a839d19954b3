# SPDX-License-Identifier: BSD-3-Clause
# For tests that talk to the plugin (or, in interop/, to nbdramd): clients, and
# looking at a server's memory. Comes after functions.sh.
# shellcheck shell=bash

case ${NBDRAM_SERVER:-plugin} in
plugin) requires_plugin ;;
*) [ -x "$nbdramd" ] || skip "$nbdramd has not been built" ;;
esac

# client [ARGUMENT...]: run the Python program on standard input with a libnbd
# handle `h` that is connected to $uri. In it: args, the arguments; connect(),
# another handle; extents(off, len), [[off, len, "data" or "hole"], ...] of a
# range, neighbours of one kind joined; refused(errno name, function, ...), true
# if calling that ends in this error.
client()
{
	requires_python_libnbd
	"$python" -c '
import errno, nbd, os, random, sys, time
uri, args = sys.argv[1], sys.argv[2:]
random.seed(int(os.environ["NBDRAM_TEST_SEED"]))

def connect():
    h = nbd.NBD()
    h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    h.connect_uri(uri)
    return h

def extents(off, len):
    found = []
    def got(context, at, pairs, err):
        for n, flags in zip(pairs[::2], pairs[1::2]):
            # A hole that does not read as zeroes, or zeroes that are no hole,
            # are not for this plugin.
            kind = {0: "data", 3: "hole"}[flags]
            if found and found[-1][2] == kind:
                found[-1][1] += n
            else:
                found.append([at, n, kind])
            at += n
        return 0
    end = off + len
    while off < end:
        h.block_status(min(end - off, 0xffff_f000), off, got)
        assert found and sum(found[-1][:2]) > off
        off = sum(found[-1][:2])
    if sum(found[-1][:2]) > end:
        found[-1][1] = end - found[-1][0]
    return found

def refused(name, call, *arguments):
    try:
        call(*arguments)
    except nbd.Error as e:
        if e.errno != name:
            print("expected", name, "but got", e, file=sys.stderr)
        return e.errno == name
    print("expected", name, "but it succeeded", file=sys.stderr)
    return False

h = connect()
exec(compile(sys.stdin.read(), "test", "exec"))' "$uri" "$@"
}

# refused PATTERN ARGUMENT...: nbdkit with our plugin and these arguments must
# not start, within 10 s; it prints one line, and the line matches the pattern
# (of grep -E). What it printed is in $tmp/refused.
refused()
{
	local pattern=$1 status
	shift
	# The command of --run would be started if nbdkit were ready to serve.
	timeout -k 5 10 "${nbdkit_command[@]}" -U "$tmp/refused.sock" "$plugin" "$@" \
		--run 'echo "it serves"' >"$tmp/refused" 2>&1 </dev/null
	status=$?
	cat "$tmp/refused"
	[ "$status" = 1 ] || fail "exit status $status with: $*"
	[ "$(wc -l <"$tmp/refused")" = 1 ] || fail "not one line with: $*"
	grep -Eq "^nbdkit: error: .*($pattern)" "$tmp/refused" ||
		fail "no '$pattern' in what was said about: $*"
}

# new_pool: set $pool to the path of a folder that is not there yet, on a tmpfs
# if there is one.
new_pool()
{
	local parent
	parent=$(mktemp -d /dev/shm/nbdram-test-XXXXXX 2>/dev/null) ||
		parent=$(mktemp -d "$tmp/pool-XXXXXX")
	cleanup_fn rm -rf "$parent"
	# shellcheck disable=SC2034
	pool=$parent/p
}

# pool_bytes [PID]: what the pool of this server occupies, as its backing says.
pool_bytes()
{
	local pid=${1:-${server_pid:-$nbdkit_pid}} fd
	for fd in "/proc/$pid/fd/"*; do
		case $(readlink "$fd") in
		/memfd:nbdram* | */pool)
			stat -L -c '%d:%i %b' "$fd"
			;;
		esac
	done | sort -u | awk '{ n += $2 } END { print n * 512 }'
}

# private_bytes [PID]: memory of this process's own, the pool not counted.
private_bytes()
{
	awk '/^RssAnon:/ { print $2 * 1024 }' "/proc/${1:-${server_pid:-$nbdkit_pid}}/status"
}

# pool_settled [PID]: true when the pool's memory has not changed for 300 ms:
# the reserve is filled, what was trimmed is given back.
pool_settled()
{
	local before
	before=$(pool_bytes "${1:-}")
	sleep 0.3
	[ "$before" = "$(pool_bytes "${1:-}")" ]
}
