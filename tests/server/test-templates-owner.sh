#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whose disk it is: %* in a pattern and in allow is what the client is called, and
# nothing that a name has in it makes another rule; a disk is for whom it was made.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

tls_init
for i in 17 18 any; do
	tls_sign "$tls" "$tmp/$i" client "/CN=$i"
done
tls_sign "$tls" "$tmp/odd" client "/CN=a, any"
conf=$tmp/conf
cat >"$conf" <<END
[server]
tls = on
tls-dir = $tls
[pool]
size = 64M
[template host-*]
size = 1M
allow = cert:%*, cert:18 ro
[template own-%*]
size = 1M
[template net-*]
size = 1M
allow = %*
[template uid-*]
size = 1M
allow = uid:%* rw
[template tmp-*]
size = 1M
[template many-*]
size = 1M
writers = many
END
start_nbdramd --both -c "$conf"
peer "$tmp" "$(id -u)" <<'END' || fail "owners"
tmp, uid = args
def who(name, uri=None):
    p = Peer(uri or tcp_uri).hello()
    if name:
        p.starttls("%s/%s" % (tmp, name))
    return p

# In clear any name is told to come by TLS.
for name in ("host-17", "own-17", "nothing"):
    refused("ERR_TLS_REQD", who(None).go, name)
    refused("ERR_TLS_REQD", who(None).ask_info, name)
# allow = cert:%*
a = who("17").go("host-17")
a.write(0, b"a" * 4096)
refused("ERR_UNKNOWN", who("17").go, "host-18")
refused("ERR_UNKNOWN", who("17").ask_info, "host-18")
refused("ERR_UNKNOWN", who("host-1").go, "host-17")
refused("ERR_UNKNOWN", who("host-1").ask_info, "host-17")
# Whom allow names besides may not take what is another's, nor make it.
refused("ERR_UNKNOWN", who("18").go, "host-17")
# Names that would be rules.
for name in ("host-*", "host-17,any", "host-17, any", "host-17 ", "host- 17",
             "host-any", "host-%*", "host-17 ro", "host-1*"):
    refused("ERR_UNKNOWN", who("17").go, name)
    refused("ERR_UNKNOWN", who("17").ask_info, name)
refused("ERR_UNKNOWN", who("odd").go, "host-a, any")
assert who("any").go("host-any").size == MIB
refused("ERR_UNKNOWN", who("17").go, "host-any")
# The pattern own-%*.
assert who("17").go("own-17").size == MIB
refused("ERR_UNKNOWN", who("17").go, "own-18")
refused("ERR_UNKNOWN", who("17").go, "own-cert:17")
refused("ERR_UNKNOWN", who("18").go, "own-17")
assert Peer(uri).hello().go("own-" + uid).size == MIB
refused("ERR_TLS_REQD", Peer(uri).hello().go, "own-%d" % (int(uid) + 1))
assert who(None).go("own-127.0.0.1").size == MIB
# Addresses and users; "any" is no address.
assert who(None).go("net-127.0.0.1").size == MIB
for name in ("net-any", "net-0.0.0.0/0", "net-cert:17", "net-127.0.0.2",
             "net-127.0.0.1,any"):
    refused("ERR_TLS_REQD", who(None).go, name)
assert Peer(uri).hello().go("uid-" + uid).size == MIB
refused("ERR_TLS_REQD", Peer(uri).hello().go, "uid-%d" % (int(uid) + 1))
refused("ERR_TLS_REQD", Peer(uri).hello().go, "uid-any")
# Without allow it is still of whom it was made for, until it is gone.
b = who("17").go("tmp-1")
for other in ("18", None, "host-1"):
    e = refused(("ERR_UNKNOWN", "ERR_TLS_REQD"), who(other).go, "tmp-1")
refused("ERR_UNKNOWN", who("18").ask_info, "tmp-1")
assert "tmp-1" not in {n for n, d in who("18").list()}
assert "tmp-1" in {n for n, d in who("17").list()}
assert ask("show", name="tmp-1")["disk"]["owner"] == "cert:17"
ctl("delete", "tmp-1", "--force")
assert who("18").go("tmp-1").size == MIB
refused("ERR_UNKNOWN", who("17").go, "tmp-1")
# A copy of what is somebody's is his, unless it is said otherwise.
ctl("snapshot", "host-17", "snap")
ctl("clone", "net-127.0.0.1", "here")
ctl("clone", "host-17", "open", "allow=any")
assert who("17").go("snap").read(0, 512) == b"a" * 512
refused("ERR_UNKNOWN", who("18").go, "snap")
assert who(None).go("here").size == MIB
refused("ERR_TLS_REQD", Peer(uri).hello().go, "here")
assert who("18").go("open").read(0, 512) == b"a" * 512
assert who("odd").go("tmp-odd").size == MIB
assert "say allow=" in fails("usage", "snapshot", name="tmp-odd")
# writers = many: for all whom allow lets in.
who("17").go("many-1").write(0, b"m" * 512)
assert who("18").go("many-1").read(0, 512) == b"m" * 512
# What is there and no template has made is nobody's.
ask("create", name="tmp-made", keys=["size=1M"])
assert who("18").go("tmp-made").size == MIB
END
grep -q 'GO "tmp-1" by cert:18: refused: it is another client' "$log" ||
	fail "the log does not say whose it is"
grep -q 'GO "host-18" by cert:17: refused: a template takes the name, and not for this client' \
	"$log" || fail "the log does not say that it is not for this one"
stop_nbdramd
