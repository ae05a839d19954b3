# SPDX-License-Identifier: BSD-3-Clause
# What each room may include. A new room is one line in the table.
. ./functions.sh

cd "$abs_top_srcdir" || fail "no source folder"

# folder | headers of other rooms | foreign headers
# Headers of other rooms: paths; a folder with a final / is all of it. Foreign:
# words that stand for the patterns below; what is in no pattern is libc's.
rooms='
src/util   |                                |
src/store  | src/util/                      |
src/proto  | src/util/                      |
src/io     | src/util/                      | sockets openssl
src/attach | src/util/ src/proto/proto.h src/proto/nbd.h src/proto/client.h src/io/tls-client.h | sockets openssl libnl
src/control | src/util/                     | jansson
src/image  | src/util/ src/store/store.h    | zstd
src/server | src/util/ src/store/store.h src/image/image.h src/proto/proto.h src/proto/nbd.h src/io/io.h src/io/tls.h src/control/control.h | libevent systemd sockets
src/ctl    | src/util/ src/store/store.h src/control/control.h src/io/tls-make.h src/proto/nbd.h src/attach/ | sockets libnbd
plugins    | src/util/ src/store/store.h src/image/image.h | nbdkit
bench      | src/util/ src/store/store.h src/proto/nbd.h | sockets
'

declare -A foreign=(
	[nbdkit]='nbdkit-.*'
	[libevent]='(event2?/.*|event\.h|ev.*\.h)'
	[openssl]='openssl/.*'
	[gnutls]='gnutls/.*'
	[libnl]='(netlink/.*|linux/(netlink|genetlink|nbd.*)\.h)'
	[libnbd]='libnbd\.h'
	[jansson]='jansson\.h'
	[zstd]='zstd.*\.h'
	[inih]='ini\.h'
	[systemd]='systemd/.*'
	[cmocka]='cmocka\.h'
	[syslog]='(sys/)?syslog\.h'
	[sockets]='(sys/(socket|un)\.h|netinet/.*|netdb\.h|arpa/.*|linux/tls\.h)'
)

# Does the list $2 (words) hold $1?
listed()
{
	case " $2 " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

faults=0 count=0
fault()
{
	echo "$1"
	faults=$((faults + 1))
}

while IFS='|' read -r room sees uses; do
	read -r room <<<"$room"
	[ "$room" ] || continue
	[ -d "$room" ] || fail "$room is in the table and not in the tree"
	for file in "$room"/*.[ch]; do
		[ -f "$file" ] || continue
		while read -r include; do
			count=$((count + 1))
			name=${include#?}
			name=${name%?}
			if [ "${include:0:1}" = '"' ]; then
				[ -f "$room/$name" ] && continue
				found=
				for place in $sees; do
					case $place in
					*/) [ -f "$place$name" ] && found=1 ;;
					*) [ "${place##*/}" = "$name" ] &&
						found=1 ;;
					esac
				done
				[ "$found" ] ||
					fault "$file: \"$name\" is no header of $room, nor of what it may see"
				continue
			fi
			for library in "${!foreign[@]}"; do
				[[ $name =~ ^${foreign[$library]}$ ]] ||
					continue
				listed "$library" "$uses" ||
					fault "$file: <$name> ($library) is not for $room"
			done
		done < <(sed -n -E \
			's/^[ \t]*#[ \t]*include[ \t]*(["<][^">]*[">]).*/\1/p' \
			"$file")
	done
done <<<"$rooms"

# A room that nobody wrote a line for.
for folder in src/*/; do
	grep -q "^${folder%/} " <<<"$rooms" ||
		fault "${folder%/} is not in the table of this test"
done

[ "$count" -gt 0 ] || fail "no include lines were found"
[ "$faults" = 0 ] || fail "$faults wrong"
echo "$count include lines"
