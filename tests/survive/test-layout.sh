#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool that release 0.1 wrote (layout 1) opens and has all that was in it, is written
# to and survives a kill; feature bits that nobody knows: a compatible one does no harm
# and stays, an incompatible one and a later layout are refused by name, and the file
# is left as it is.
#
# `bash test-layout.sh make FILE` writes such a pool, for a layout to come.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
requires_command gzip

new_pool
cat >"$tmp/contents.py" <<'END'
def block(name, i):
    return (b"%s %d. " % (name.encode(), i) * 600)[:4096]
# name, size, [(offset, bytes)]; what follows changes what is before.
T = 1 << 40
PLAIN = [(i * 4096, block("plain", i)) for i in range(40)] + [
    (5000, b"a part of a block"), (300001 - 100, b"e" * 100)]
CLONE = PLAIN + [(i * 8192, block("clone", i)) for i in range(10)]
DEEP = [(at, block("deep", at >> 12)) for at in (
    0, 2 * MIB, 2 * MIB - 4096, 1 << 30, 512 << 30, 3 * T + 4096, 8 * T - 4096)]
FIXED = [(8192, block("fixed", 2))]
LATER = [(4096, block("later", 1))]
WANTED = {
    "plain": (300001, PLAIN + LATER), "plain.kept": (300001, PLAIN),
    "clone": (300001, CLONE), "deep": (8 * T, DEEP), "fixed": (65536, FIXED),
    "a name with \u00e4": (4096, []), "command": (65536, FIXED)}

def image(pieces, size):
    """{block: bytes} of what is not zero."""
    found = {}
    for at, data in pieces:
        while data:
            b, begin = at >> 12, at & 4095
            part = data[:4096 - begin]
            old = found.get(b, bytes(4096))
            found[b] = old[:begin] + part + old[begin + len(part):]
            at, data = at + len(part), data[len(part):]
    return found

def verify(more={}):
    found = disks()
    assert set(found) == set(WANTED), sorted(found)
    for name, (size, pieces) in WANTED.items():
        with Peer.open(name=name) as p:
            assert p.size == size, (name, p.size)
            blocks = image(pieces + more.get(name, []), size)
            here = set(blocks) | {0, (size - 1) >> 12} | {
                b + 1 for b in blocks if b + 1 << 12 < size}
            for b in here:
                n = min(4096, size - (b << 12))
                assert p.read(b << 12, n) == \
                    blocks.get(b, bytes(4096))[:n], (name, b)
    assert found["plain.kept"]["snapshot"] and found["command"]["readonly"]
    # What is guaranteed to it, and its table.
    assert found["fixed"]["taken"] >= 65536 + 4096
    ask("check")
END
exports=(-e plain,size=300001 -e clone,clone=plain -e deep,size=8T
	-e fixed,size=64K,alloc=fixed -e "a name with ä,size=4096")

if [ "${1:-}" = make ]; then
	start_nbdramd -p "$pool" -m 1M -o warm=0 -o workers=1 "${exports[@]:0:2}" \
		"${exports[@]:4}"
	{
		cat "$tmp/contents.py"
		cat <<'END'
def fill(name, pieces):
    with Peer.open(name=name) as p:
        for at, data in pieces:
            p.write(at, data)
fill("plain", PLAIN)
ask("clone", **{"from": "plain", "to": "clone"})
fill("clone", CLONE[len(PLAIN):])
ask("snapshot", name="plain", **{"as": "plain.kept"})
fill("plain", LATER)
fill("deep", DEEP)
fill("fixed", FIXED)
ask("clone", **{"from": "fixed", "to": "command"}, keys=["readonly=yes"])
END
	} >"$tmp/make.py"
	peer <"$tmp/make.py" || fail "it cannot be written"
	stop_nbdramd
	gzip -9nc <"$pool/pool" >"$2"
	exit
fi

# A server for the file as it was delivered, changed by the Perl program $1.
begin()
{
	rm -rf "$pool"
	mkdir -m 700 "$pool"
	gzip -dc "$abs_top_srcdir/tests/survive/layout-1.pool.gz" \
		>"$pool/pool" || fail "gzip"
}

begin
start_nbdramd -p "$pool" -m 2M "${exports[@]}"
{ cat "$tmp/contents.py"; echo 'verify()'; } | peer || fail "as it was"
{ cat "$tmp/contents.py"; echo 'with Peer.open(name="clone") as p:
    p.write(10000, b"written now" * 500)'; } | peer || fail "writing"
kill_nbdramd
start_nbdramd -p "$pool" -m 2M "${exports[@]}"
{ cat "$tmp/contents.py"; echo 'verify({"clone": [(10000, b"written now" * 500)]})'; } |
	peer || fail "after a kill"
stop_nbdramd

# super FIELD=VALUE...: change the superblock, and its checksum with it.
super()
{
	"$python" - "$pool/pool" "$@" <<'END' || fail "super"
import struct, sys
at = {"magic": (0, "<Q"), "version": (8, "<I"), "block": (12, "<I"),
      "compatible": (16, "<Q"), "incompatible": (24, "<Q")}
with open(sys.argv[1], "r+b") as f:
    head = bytearray(f.read(48))
    for change in sys.argv[2:]:
        key, value = change.split("=")
        struct.pack_into(at[key][1], head, at[key][0], int(value, 0))
    crc = 0xffffffff
    for byte in head:
        crc ^= byte
        for i in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    f.seek(0)
    f.write(head + struct.pack("<I", crc ^ 0xffffffff))
END
}

for bits in 0x1 0x8000000000000000 0xffffffffffffffff; do
	begin
	super "compatible=$bits"
	start_nbdramd -p "$pool" -m 2M "${exports[@]}"
	{ cat "$tmp/contents.py"; echo 'verify()'; } | peer ||
		fail "compatible features $bits"
	stop_nbdramd
	[ "$("$python" -c 'import struct, sys
print(hex(struct.unpack("<Q", open(sys.argv[1], "rb").read(24)[16:])[0]))' \
		"$pool/pool")" = "$bits" ] || fail "compatible features are gone"
	begin
	super "incompatible=$bits"
	cp "$pool/pool" "$tmp/before"
	wrong 1 "$pool/pool: made by a later release \(layout 1, features $bits " \
		-l "unix:$tmp/s" -p "$pool" -m 2M "${exports[@]}"
	cmp "$pool/pool" "$tmp/before" || fail "it was changed"
done
for version in 2 77 4294967295; do
	begin
	super "version=$version"
	cp "$pool/pool" "$tmp/before"
	wrong 1 "$pool/pool: made by a later release \(layout $version, " \
		-l "unix:$tmp/s" -p "$pool" -m 2M "${exports[@]}"
	cmp "$pool/pool" "$tmp/before" || fail "it was changed"
done
for change in version=0 block=512 magic=7; do
	begin
	super "$change"
	wrong 1 "$pool/pool: (not a pool of nbdram|its superblock is damaged)" \
		-l "unix:$tmp/s" -p "$pool" -m 2M "${exports[@]}"
done
