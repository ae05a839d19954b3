/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-shared keys: the lines of keys.psk, and clients that use them. */
#include "unit/unit.h"

#include <openssl/err.h>
#include <string.h>

#include "unit/tls-world.h"

#define KEY_A "000102030405060708090a0b0c0d0e0f"
#define KEY_B "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff" KEY_A

static struct world w;

static int begin(void **state)
{
	(void)state;
	world_begin(&w);
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_end(&w);
	return 0;
}

static void faulty(const char *text, const char *fault)
{
	world_put(&w, "keys.psk", text, 0600);
	world_fault(&w, true, fault);
}

static void lines(void **state)
{
	(void)state;
	faulty("alice:" KEY_A "\nbob\n", "keys.psk: line 2: no colon");
	faulty("", "keys.psk: there is no key");
	faulty("\n\r\n", "keys.psk: there is no key");
	faulty(":" KEY_A "\n", "keys.psk: line 1: the user is missing");
	faulty("alice:\n", "keys.psk: line 1: the key is missing");
	faulty("alice:0123\n", "line 1: the key is weak");
	faulty("\nalice:" KEY_A "0\n", "line 2: the key has an odd number");
	faulty("alice:xyz0" KEY_A, "line 1: the key is not all hexa");
	faulty("alice:" KEY_A " \n", "line 1: there is a blank in the key");
	faulty("alice:" KEY_B KEY_B KEY_A "\n", "line 1: the key is longer");
	faulty("alice:" KEY_A "\nbob:" KEY_B "\nalice:" KEY_B "\n",
	       "lines 1 and 3: both are of the user \"alice\"");
	/* Each for itself. */
	world_put(&w, "keys.psk", "alice\nbob\n:\n", 0600);
	assert_null(world_load(&w, NULL, true));
	assert_int_equal(w.faults, 3);
	world_put(&w, "keys.psk", "alice:" KEY_A, 0644);
	io_tls_put(world_load(&w, NULL, true));
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.said, "keys.psk: can be read by everybody"));
}

static char user[100];

static int note_user(void *arg, enum io_name kind, const char *name)
{
	(void)arg;
	assert_int_equal(kind, IO_NAME_PSK);
	strncpy(user, name, sizeof(user) - 1);
	return 0;
}

/* reason NULL: it is welcome, and known by its name. Returns the alert that the
 * client gets. */
static int try_key(const char *name, const char *key, int version,
		   const char *reason)
{
	struct client c = {.user = name,
			   .key = key,
			   .version = version,
			   .ciphers = "DEFAULT:PSK"};
	struct io_tls *tls = world_load(&w, NULL, true);
	struct pair p;
	char buf[8];
	int error, alert;

	assert_non_null(tls);
	error = pair_begin(&p, tls, &c);
	user[0] = 0;
	if (reason) {
		assert_true(error < 0);
		assert_string_equal(io_reason(&p.io), reason);
		assert_int_equal(io_tls_names(&p.io, note_user, NULL), 0);
		assert_string_equal(user, "");
	} else {
		assert_int_equal(error, 0);
		assert_int_equal(io_tls_names(&p.io, note_user, NULL), 0);
		assert_string_equal(user, name);
		client_write(&p, "hello", 5);
		struct iovec iov = {.iov_base = buf, .iov_len = 8};
		assert_int_equal(io_readv(&p.io, &iov, 1), 5);
	}
	ERR_clear_error();
	alert = SSL_read(p.ssl, buf, 1);
	alert = reason ? ERR_GET_REASON(ERR_peek_last_error()) : 0;
	pair_end(&p);
	io_tls_put(tls);
	return alert;
}

static void keys(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION, 0};

	(void)state;
	world_put(&w, "keys.psk",
		  "alice:" KEY_A "\r\n\nbob:" KEY_B "\ncarol.x y:" KEY_A, 0600);
	/* With certificates beside, and without. */
	for (int i = 0; i < 6; i++) {
		int v = versions[i % 3], wrong, unknown;

		if (i == 3) {
			world_put(&w, "server-cert.pem", NULL, 0);
			world_put(&w, "server-key.pem", NULL, 0);
			world_put(&w, "ca-cert.pem", NULL, 0);
		}
		try_key("alice", KEY_A, v, NULL);
		try_key("bob", KEY_B, v, NULL);
		try_key("carol.x y", KEY_A, v, NULL);
		wrong = try_key("bob", KEY_A, v,
				"user \"bob\" of keys.psk has another key");
		unknown = try_key("mallory", KEY_A, v,
				  "keys.psk has no user \"mallory\"");
		/* The client cannot tell them apart. */
		assert_int_equal(wrong, unknown);
		try_key("alic", KEY_A, v, "keys.psk has no user \"alic\"");
		try_key("a\033]0;b", KEY_A, v,
			"keys.psk has no user \"a\\x1b]0;b\"");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
