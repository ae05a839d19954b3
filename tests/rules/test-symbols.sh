# SPDX-License-Identifier: BSD-3-Clause
# What the built libraries need from outside, and what the plugin shows: a room
# that needs no sockets and prints nothing has no such symbol.
. ./functions.sh

requires_command nm readelf
[ -z "$sanitizers" ] || skip "sanitizers bring symbols of their own"

util=$abs_top_builddir/src/util/.libs/libutil.a
store=$abs_top_builddir/src/store/.libs/libstore.a
proto=$abs_top_builddir/src/proto/.libs/libproto.a
control=$abs_top_builddir/src/control/.libs/libcontrol.a
for lib in "$util" "$store" "$proto" "$control" "$plugin"; do
	# libtool puts convenience libraries here or there.
	[ -f "$lib" ] || [ -f "${lib/.libs\//}" ] || fail "$lib is missing"
done
[ -f "$util" ] || util=${util/.libs\//}
[ -f "$store" ] || store=${store/.libs\//}
[ -f "$proto" ] || proto=${proto/.libs\//}
[ -f "$control" ] || control=${control/.libs\//}

faults=0

# undefined LIBRARY: what it needs and does not have, a name a line; what the
# C library's checking versions are called (__fprintf_chk) as without them.
undefined()
{
	comm -23 \
		<(nm -u --format=posix "$1" | awk '$2 == "U" || $2 == "w" { print $1 }' | sort -u) \
		<(nm --defined-only --format=posix "$1" | awk 'NF > 1 { print $1 }' | sort -u) |
		sed -E -e 's/@.*//' -e 's/^__(.*)_chk$/\1/' \
			-e 's/^__isoc(99|23)_//' | sort -u
}

# must_not LIBRARY WHY REGEX: no needed name matches all of it.
must_not()
{
	local bad
	bad=$(undefined "$1" | grep -E "^($3)\$")
	if [ "$bad" ]; then
		echo "${1##*/} $2:" $bad
		faults=$((faults + 1))
	fi
}

for lib in "$util" "$store" "$proto" "$control"; do
	[ "$(undefined "$lib" | wc -l)" -gt 0 ] || fail "nm told nothing of $lib"
	must_not "$lib" "uses sockets" \
		'socket|socketpair|connect|bind|listen|accept4?|send(to|msg|mmsg|file)?|recv(from|msg|mmsg)?|shutdown|getaddrinfo|gethostby.*|[gs]etsockopt'
	must_not "$lib" "prints or logs" \
		'v?printf|v?fprintf|v?dprintf|f?puts|f?putc|putchar|fwrite|perror|psignal|v?syslog|openlog|v?warnx?|v?errx?|std(out|err)'
	must_not "$lib" "ends the process" '_?exit|_Exit|quick_exit'
	# jansson is for control alone.
	[ "$lib" = "$control" ] || must_not "$lib" "needs jansson" 'json_.*'
	must_not "$lib" "needs a foreign library" \
		'event_.*|evbuffer_.*|bufferevent_.*|SSL_.*|BIO_.*|EVP_.*|ERR_.*|gnutls_.*|nbdkit_.*|nbd_.*|ZSTD_.*|nl_.*|nla_.*|genl_.*|sd_.*'
done

# Bytes in, items out: one object is allocated, and nothing is waited for.
must_not "$proto" "allocates" \
	'malloc|realloc|reallocarray|.*memalign|aligned_alloc|v?asprintf|strn?dup|mmap'
must_not "$proto" "waits or looks at a clock" \
	'pthread_.*|time|clock_.*|gettimeofday|.*sleep|p?poll|p?select|epoll_.*|open(64)?|read|write|close'

# The plugin shows one function and needs the C library, and zstd's for images.
shown=$(nm -D --defined-only --format=posix "$plugin" |
	awk '{ sub(/@.*/, "", $1); print $1 }' | sort | tr '\n' ' ')
if [ "$shown" != 'plugin_init ' ]; then
	echo "the plugin shows: $shown"
	faults=$((faults + 1))
fi
needed=$(readelf -d "$plugin" |
	sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' |
	grep -v -E '^(libc|libpthread|libzstd|ld-linux.*)\.so\.[0-9]+$')
if [ "$needed" ]; then
	echo "the plugin needs:" $needed
	faults=$((faults + 1))
fi

[ "$faults" = 0 ] || fail "$faults wrong"
