#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clients, disconnect, stats: who is connected and what was done, by worker and in
# all.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

start_nbdramd --both -m 64M -e a,size=64M -e b,size=1M,readonly -o workers=2
peer <<'END' || fail "clients and stats"
assert ask("clients")["clients"] == []
assert ctl("clients").count("\n") == 1
begun = [Peer() for i in range(3)]
p = Peer.open(name="a", uri=tcp_uri)
q = Peer.open(name="b")
p.write(0, bytes([1]) * 8192)
p.write(0, pattern(1, MIB))
p.read(0, 4096)
p.read(4096, 8192)
p.trim(MIB, 4096)
p.zero(0, 4096)
p.flush()
p.request(WRITE, 64 * MIB, 512, payload=bytes(512))
assert p.answer().name() == "ENOSPC"
q.request(WRITE, 0, 512, payload=bytes(512))
assert q.answer().name() == "EPERM"
refused("ERR_UNKNOWN", Peer.open, name="gone")

assert eventually(10, lambda: len(ask("clients")["clients"]) == 5)
all = {c.get("export"): c for c in ask("clients")["clients"]}
a, b = all["a"], all["b"]
assert a["peer"].startswith("127.0.0.1:") and b["peer"] == "unix"
assert a["access"] == "rw" and b["access"] == "ro"
assert a["requests"] == 8 and a["read"] == 12288, a
assert a["written"] == MIB + 8192, a
assert all[None]["state"] == "handshake"

s = ask("stats")
assert [w["worker"] for w in s["workers"]] == ["0", "1", "all"]
for key in s["workers"][0]:
    if key != "worker":
        assert sum(w[key] for w in s["workers"][:2]) == s["workers"][2][key]
n = s["workers"][2]
assert (n["reads"], n["writes"], n["trims"], n["zeroes"], n["flushes"]) == \
    (2, 4, 1, 1, 1), n
assert n["read"] == 12288 and n["written"] == MIB + 8192 and n["errors"] == 2
assert n["refused"] == 1 and n["connections"] == 5
assert s["server"]["accepted"] == 6
assert s["pool"]["held"] >= MIB

ctl("disconnect", str(a["id"]))
assert p.closed()
q.read(0, 512)
fails("not-found", "disconnect", id=str(a["id"]))
for id in "x", "", "-1", "1x", "99999999999999999999":
    fails("usage", "disconnect", id=id)
assert eventually(10, lambda: len(ask("clients")["clients"]) == 4)
END
stop_nbdramd

# Who they are, and how they come: the table says it too.
command -v openssl >/dev/null || exit 0
. "$abs_top_srcdir/tests/tls.sh"
tls_init
start_nbdramd --tcp -m 64M -o tls=on -o "tls-dir=$tls" 1M
peer "$tls_client" <<'END' || fail "clients by TLS"
plain = Peer().hello()
p = Peer().hello()
p.starttls(args[0])
p.go("default")
assert eventually(10, lambda: len(ask("clients")["clients"]) == 2)
rows = ctl("clients").splitlines()
assert rows[0].split()[:5] == ["ID", "FROM", "WHO", "TLS", "CIPHER"], rows
assert rows[1].split()[2:5] == ["127.0.0.1", "-", "-"], rows
assert rows[2].split()[2:5] == ["cert:host-1", "TLSv1.3",
                                "TLS_AES_128_GCM_SHA256"], rows
END
stop_nbdramd
