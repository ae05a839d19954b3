# SPDX-License-Identifier: BSD-3-Clause
# The plugin under nbdkit --tls=require, with the files that nbdramctl tls-init
# makes: by certificates and by keys.
. ./functions.sh

requires_plugin
requires_command nbdinfo nbdcopy
[ -x "$nbdramctl" ] || skip "$nbdramctl has not been built"
"$nbdramctl" tls-init "$tmp/tls" --client host-1 --psk alice >/dev/null ||
	fail "tls-init"
"$nbdkit" --dump-config | grep -q '^tls=yes' || skip "nbdkit has no TLS"
head -c 5M /dev/urandom >"$tmp/data"
for by in certificates psk; do
	if [ $by = psk ]; then
		start_nbdkit --tcp --tls=require "--tls-psk=$tmp/tls/keys.psk" 8M
		target="nbds://alice@127.0.0.1:$port/?tls-psk-file=$tmp/tls/alice/keys.psk"
	else
		start_nbdkit --tcp --tls=require --tls-verify-peer \
			"--tls-certificates=$tmp/tls" 8M
		target="nbds://127.0.0.1:$port/?tls-certificates=$tmp/tls/host-1"
	fi
	nbdcopy "$tmp/data" "$target" || fail "nbdcopy to it, $by"
	nbdcopy "$target" - | head -c 5M | cmp - "$tmp/data" ||
		fail "other data, $by"
	nbdinfo --size "nbd://127.0.0.1:$port" && fail "it is served in clear"
done
exit 0
