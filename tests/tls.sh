# SPDX-License-Identifier: BSD-3-Clause
# For tests of TLS: certificates and keys. Comes after functions.sh.
# shellcheck shell=bash

requires_command openssl

# tls_authority DIR NAME: ca-cert.pem and ca-key.pem in it.
tls_authority()
{
	mkdir -p "$1"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-keyout "$1/ca-key.pem" -out "$1/ca-cert.pem" -days 100 \
		-subj "/CN=$2" -addext basicConstraints=critical,CA:TRUE \
		-addext keyUsage=critical,keyCertSign,cRLSign \
		>"$tmp/openssl" 2>&1 || fail "openssl: $(cat "$tmp/openssl")"
}

# tls_sign AUTHORITY DIR server|client SUBJECT [SAN] [DAYS]: DIR/server-cert.pem
# and so on, signed by what is in the folder AUTHORITY; its ca-cert.pem beside
# them. DAYS: from when on it is valid until when, by default 50 days from now.
tls_sign()
{
	local from=$1 dir=$2 kind=$3 subject=$4 names=${5:-} days=${6:-50}
	mkdir -p "$dir"
	{
		echo "extendedKeyUsage=${kind}Auth"
		echo "basicConstraints=CA:FALSE"
		[ -z "$names" ] || echo "subjectAltName=$names"
	} >"$tmp/extensions"
	{
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
			-keyout "$dir/$kind-key.pem" -subj "$subject" \
			-out "$tmp/request" &&
			openssl x509 -req -in "$tmp/request" -days "$days" \
				-CA "$from/ca-cert.pem" \
				-CAkey "$from/ca-key.pem" \
				-set_serial "0x$(openssl rand -hex 8)" \
				-out "$dir/$kind-cert.pem" \
				-extfile "$tmp/extensions"
	} >"$tmp/openssl" 2>&1 || fail "openssl: $(cat "$tmp/openssl")"
	[ "$from" -ef "$dir" ] || cp "$from/ca-cert.pem" "$dir/"
	chmod 600 "$dir/$kind-key.pem"
}

# tls_init: set $tls to a tls-dir for this host, with ca-key.pem beside, the user
# alice in keys.psk, and a client's files; and $tls_client to a folder for the
# client host-1.
tls_init()
{
	tls=$tmp/tls
	tls_authority "$tls" "an authority"
	tls_sign "$tls" "$tls" server "/CN=localhost" \
		DNS:localhost,IP:127.0.0.1,IP:::1
	(umask 077 && echo "alice:$(openssl rand -hex 32)" >"$tls/keys.psk")
	tls_client=$tmp/host-1
	tls_sign "$tls" "$tls_client" client "/CN=host-1"
}

# tls_uri [DIR] [EXPORT]: the server's URI with the certificates in DIR.
tls_uri()
{
	echo "nbds://127.0.0.1:$port/${2:-}?tls-certificates=${1:-$tls_client}"
}

# psk_uri [USER] [FILE] [EXPORT]
psk_uri()
{
	echo "nbds://${1:-alice}@127.0.0.1:$port/${3:-}?tls-psk-file=${2:-$tls/keys.psk}"
}

# only_tls VERSION COMMAND...: run it with this version of TLS alone (1.2, 1.3),
# where it has GnuTLS.
only_tls()
{
	local version=$1 other
	shift
	{
		echo '[overrides]'
		for other in 1.0 1.1 1.2 1.3; do
			[ "$other" = "$version" ] ||
				echo "disabled-version = tls$other"
		done
	} >"$tmp/only-$version"
	GNUTLS_SYSTEM_PRIORITY_FILE=$tmp/only-$version "$@"
}
