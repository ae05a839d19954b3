/* SPDX-License-Identifier: BSD-3-Clause */
/* NBD URIs: what is in them, and what is said about those that are none. */
#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "uri.h"

static struct attach_uri u;
static struct attach_why why;

static void good(const char *text)
{
	if (attach_uri_read(text, &u, &why))
		fail_msg("%s: %s", text, why.text);
}

static void same(const char *is, const char *expected)
{
	if (!expected)
		assert_null(is);
	else if (!is)
		fail_msg("nothing, and not %s", expected);
	else
		assert_string_equal(is, expected);
}

static void parts(const char *text, bool tls, const char *host,
		  const char *port, const char *path, const char *export)
{
	good(text);
	assert_int_equal(u.tls, tls);
	same(u.host, host);
	same(u.port, port);
	same(u.socket, path);
	same(u.export, export);
	attach_uri_free(&u);
}

static void tcp(const char *text, bool tls, const char *host, const char *port,
		const char *export)
{
	parts(text, tls, host, port, NULL, export);
}

static void local(const char *text, bool tls, const char *path,
		  const char *export)
{
	parts(text, tls, NULL, NULL, path, export);
}

static void wrong(const char *text, const char *words)
{
	memset(&why, 0, sizeof(why));
	assert_int_equal(attach_uri_read(text, &u, &why), -EINVAL);
	if (!strstr(why.text, words))
		fail_msg("%s: no \"%s\" in: %s", text, words, why.text);
	assert_null(strchr(why.text, '\n'));
}

static void hosts(void **state)
{
	(void)state;
	tcp("nbd://host", false, "host", "10809", "");
	tcp("nbd://host/", false, "host", "10809", "");
	tcp("nbd://host/disk", false, "host", "10809", "disk");
	tcp("nbds://host:1/disk", true, "host", "1", "disk");
	tcp("nbd://10.1.2.3:65535/a/b/", false, "10.1.2.3", "65535", "a/b/");
	tcp("nbd://host//", false, "host", "10809", "/");
	tcp("nbd://host:/x", false, "host", "10809", "x");
	tcp("nbd:///x", false, "localhost", "10809", "x");
	tcp("nbd://:1234", false, "localhost", "1234", "");
	tcp("nbd://host?", false, "host", "10809", "");
	tcp("nbd://host/x?&;&", false, "host", "10809", "x");
	tcp("nbd://[::1]/x", false, "::1", "10809", "x");
	tcp("nbd://[fe80::1%25eth0]:99/x", false, "fe80::1%eth0", "99", "x");
	tcp("nbd://user@host/x@y", false, "host", "10809", "x@y");
}

static void escapes(void **state)
{
	(void)state;
	tcp("nbd://h%6Fst/%61%2f%3F%23%25%c3%A4", false, "host", "10809",
	    "a/?#%\xc3\xa4");
	tcp("nbd://host/a+b=c&d", false, "host", "10809", "a+b=c&d");
	local("nbd+unix:///?socket=/tmp/a%26b%3Dc%20d", false, "/tmp/a&b=c d",
	      "");
	wrong("nbd://host/%", "export name has a %");
	wrong("nbd://host/%4", "export name has a %");
	wrong("nbd://host/%4g", "export name has a %");
	wrong("nbd://host/a%00b", "export name has a %");
	wrong("nbd://h%zzst/", "host has a %");
	wrong("nbd+unix:///?socket=%", "socket has a %");
	wrong("nbd://%@host/", "user has a %");
}

static void sockets(void **state)
{
	(void)state;
	local("nbd+unix:///disk?socket=/run/nbd.sock", false, "/run/nbd.sock",
	      "disk");
	local("nbds+unix://?socket=s", true, "s", "");
	local("nbds+unix://alice@/x?socket=s", true, "s", "x");
	wrong("nbd+unix:///disk", "names no socket");
	wrong("nbd+unix:///disk?socket=", "socket is empty");
	wrong("nbd+unix:///disk?socket", "socket is empty");
	wrong("nbd+unix://host/disk?socket=s", "a host and a Unix socket");
	wrong("nbd://host/disk?socket=s", "a host and a Unix socket");
}

static void tls(void **state)
{
	(void)state;
	good("nbds://al%40ice@host/x?tls-certificates=/etc/tls;"
	     "tls-verify-peer=false&tls-hostname=other");
	same(u.user, "al@ice");
	same(u.certificates, "/etc/tls");
	same(u.hostname, "other");
	same(u.psk_file, NULL);
	assert_false(u.verify_peer);
	attach_uri_free(&u);
	good("nbds://alice@host/x?tls-psk-file=/etc/keys.psk");
	same(u.user, "alice");
	same(u.psk_file, "/etc/keys.psk");
	same(u.certificates, NULL);
	assert_true(u.verify_peer);
	attach_uri_free(&u);
	good("nbds://host/?tls-verify-peer=1&tls-psk-file=a&tls-psk-file=b");
	same(u.psk_file, "b");
	assert_true(u.verify_peer);
	attach_uri_free(&u);
	wrong("nbds://host/?tls-verify-peer=maybe", "neither true nor false");
	wrong("nbds://host/?tls-verify-peer", "neither true nor false");
	wrong("nbds://host/?tls-certificates=a&tls-psk-file=b", "both");
	/* Nobody is to think that this is TLS. */
	wrong("nbd://host/?tls-certificates=a", "and no TLS; write nbds:");
	wrong("nbd+unix:///?socket=s&tls-psk-file=a", "and no TLS");
}

static void others(void **state)
{
	static char longest[5000];

	(void)state;
	wrong("", "is no NBD URI");
	wrong("host", "is no NBD URI");
	wrong("nbd:host:10809", "is no NBD URI");
	wrong("http://host/", "is no NBD URI");
	wrong("NBD://host/", "is no NBD URI");
	wrong("nbd+vsock://1/", "is no NBD URI");
	wrong("\x1b[31m", "\"\\x1b[31m\" is no NBD URI");
	wrong("nbd://host:0/", "port");
	wrong("nbd://host:65536/", "port");
	wrong("nbd://host:99999999999999999999/", "port");
	wrong("nbd://host:nbd/", "port");
	wrong("nbd://host:-1/", "port");
	wrong("nbd://::1/", "port");
	wrong("nbd://[::1/", "does not end in a ]");
	wrong("nbd://[::1]x/", "does not end in a ]");
	wrong("nbd://host/x#y", "%23");
	wrong("nbds://host/?tls-certficates=a", "\"tls-certficates\"");
	wrong("nbd://host/?=", "a parameter \"\"");
	snprintf(longest, sizeof(longest), "nbd://host/%04096d", 0);
	good(longest);
	attach_uri_free(&u);
	snprintf(longest, sizeof(longest), "nbd://host/%04097d", 0);
	wrong(longest, "longer than 4096");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts),   cmocka_unit_test(escapes),
		cmocka_unit_test(sockets), cmocka_unit_test(tls),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
