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

faults=0
fault()
{
	echo "$1"
	faults=$((faults + 1))
}

for library in "${!foreign[@]}"; do
	printf '%s\t%s\n' "$library" "${foreign[$library]}"
done >"$tmp/foreign"
grep '|' <<<"$rooms" >"$tmp/rooms"
"$python" - "$tmp/rooms" "$tmp/foreign" >"$tmp/found" <<'END' || fail "see above"
import glob, os, re, sys
foreign = [line.rstrip("\n").split("\t") for line in open(sys.argv[2])]
include = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]*)[">]', re.M)
count = 0
for line in open(sys.argv[1]):
    room, sees, uses = (part.strip() for part in line.split("|"))
    if not os.path.isdir(room):
        print(room, "is in the table and not in the tree")
    for file in glob.glob(room + "/*.[ch]"):
        for kind, name in include.findall(open(file).read()):
            count += 1
            if kind == '"':
                if not (os.path.isfile(room + "/" + name) or any(
                        os.path.isfile(place + name) if place.endswith("/")
                        else os.path.basename(place) == name
                        for place in sees.split())):
                    print('%s: "%s" is no header of %s, nor of what it may see'
                          % (file, name, room))
                continue
            for library, pattern in foreign:
                if re.fullmatch(pattern, name) and library not in uses.split():
                    print("%s: <%s> (%s) is not for %s" % (file, name, library, room))
print(count, "include lines")
END
while IFS= read -r line; do
	case $line in
	*' include lines') count=${line%% *} ;;
	*) fault "$line" ;;
	esac
done <"$tmp/found"

# A room that nobody wrote a line for.
for folder in src/*/; do
	grep -q "^${folder%/} " <<<"$rooms" ||
		fault "${folder%/} is not in the table of this test"
done

[ "$count" -gt 0 ] || fail "no include lines were found"
[ "$faults" = 0 ] || fail "$faults wrong"
echo "$count include lines"
