/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a tls-dir: each fault is named, one line for one fault; and what
 * certificates are taken and refused. */
#include "unit/unit.h"

#include <errno.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/tls-world.h"

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

static void put_cert(const char *file, const struct tls_identity *who)
{
	char *text = tls_identity_cert(who);

	world_put(&w, file, text, 0644);
	free(text);
}

static void loads(void)
{
	struct io_tls *tls = world_load(&w, NULL, true);

	assert_non_null(tls);
	assert_int_equal(w.warnings, 0);
	io_tls_put(tls);
}

static void good(void **state)
{
	struct io_tls *tls;

	(void)state;
	loads();
	tls = world_load(&w, "TLS_AES_256_GCM_SHA384:ECDHE+AESGCM", true);
	assert_non_null(tls);
	assert_ptr_equal(io_tls_get(tls), tls);
	io_tls_put(tls);
	io_tls_put(tls);
	io_tls_put(NULL);
}

static void ciphers(void **state)
{
	(void)state;
	assert_null(world_load(&w, "TLS_AES_129_GCM", true));
	assert_non_null(strstr(w.said, "no cipher \"TLS_AES_129_GCM\""));
	assert_null(world_load(&w, "nonsense", true));
	assert_non_null(strstr(w.said, "no cipher in \"nonsense\""));
}

static void no_folder(void **state)
{
	struct world other = w;

	(void)state;
	strcpy(other.dir, "/nonexistent/nbdram");
	world_fault(&other, true, "/nonexistent/nbdram: cannot be opened");
	strcpy(other.dir, "/dev/null");
	world_fault(&other, true, "/dev/null: is no folder");
}

static void missing(void **state)
{
	(void)state;
	world_put(&w, "server-key.pem", NULL, 0);
	world_fault(&w, true, "server-key.pem: cannot be opened");
	world_put(&w, "server-cert.pem", NULL, 0);
	world_fault(&w, true, "neither server-cert.pem nor keys.psk");
	world_put_server(&w, w.server);
	world_put(&w, "ca-cert.pem", NULL, 0);
	world_fault(&w, true, "ca-cert.pem: is not there");
	io_tls_put(world_load(&w, NULL, false));
	assert_int_equal(w.faults, 0);
	put_cert("ca-cert.pem", w.authority);
	loads();
}

static void unreadable(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/server-key.pem", w.dir);
	unlink(path);
	/* A pipe that nobody writes to must not be waited for. */
	assert_int_equal(mkfifo(path, 0600), 0);
	world_fault(&w, true, "server-key.pem: is no file");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	world_fault(&w, true, "server-key.pem: is no file");
	rmdir(path);
	assert_int_equal(symlink("server-key.pem", path), 0);
	world_fault(&w, true, "server-key.pem: cannot be opened: Too many");
	unlink(path);
	world_put_server(&w, w.server);
	if (geteuid() != 0) {
		assert_int_equal(chmod(path, 0), 0);
		world_fault(&w, true, "server-key.pem: cannot be opened: Perm");
		assert_int_equal(chmod(path, 0600), 0);
	}
	assert_int_equal(truncate(path, 2 << 20), 0);
	world_fault(&w, true, "server-key.pem: is larger than 1 MiB");
	world_put_server(&w, w.server);
	loads();
}

static void nothing_inside(void **state)
{
	static const char *const texts[] = {"", "garbage\n", "-----BEGIN\n"};
	char *cert = tls_identity_cert(w.server);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		world_put(&w, "server-cert.pem", texts[i], 0644);
		world_fault(&w, true, "server-cert.pem: there is no cert");
		world_put_server(&w, w.server);
		world_put(&w, "server-key.pem", texts[i], 0600);
		world_fault(&w, true, "server-key.pem: there is no private");
		world_put_server(&w, w.server);
		world_put(&w, "ca-crl.pem", texts[i], 0644);
		world_fault(&w, true, "ca-crl.pem: there is no list");
		world_put(&w, "ca-crl.pem", NULL, 0);
	}
	cert[100] = '!';
	world_put(&w, "server-cert.pem", cert, 0644);
	world_fault(&w, true, "server-cert.pem: there is no cert");
	free(cert);
	world_put_server(&w, w.server);
	loads();
}

static void encrypted(void **state)
{
	char *plain = tls_identity_key(w.server), *data, text[4096];
	BIO *from = BIO_new_mem_buf(plain, -1), *to = BIO_new(BIO_s_mem());
	EVP_PKEY *key = PEM_read_bio_PrivateKey(from, NULL, NULL, NULL);
	long len;

	(void)state;
	PEM_write_bio_PKCS8PrivateKey(to, key, EVP_aes_128_cbc(), "secret", 6,
				      NULL, NULL);
	len = BIO_get_mem_data(to, &data);
	memcpy(text, data, len);
	text[len] = 0;
	world_put(&w, "server-key.pem", text, 0600);
	world_fault(&w, true, "server-key.pem: is encrypted");
	BIO_free(from);
	BIO_free(to);
	EVP_PKEY_free(key);
	free(plain);
	world_put_server(&w, w.server);
}

static void unmatched(void **state)
{
	struct tls_identity *other =
		world_make(TLS_SERVER, "other", w.authority, 10, 0);
	struct tls_identity *stranger =
		world_make(TLS_AUTHORITY, "stranger", NULL, 10, 0);
	char *text;

	(void)state;
	put_cert("server-cert.pem", other);
	world_fault(&w, true, "does not belong to the key");
	world_put_server(&w, w.server);
	/* A list of another authority. */
	text = tls_revoke(stranger, NULL, 0, 10);
	world_put(&w, "ca-crl.pem", text, 0644);
	free(text);
	world_fault(&w, true, "ca-crl.pem: list 1: no authority");
	world_put(&w, "ca-crl.pem", NULL, 0);
	/* Not an authority at all. */
	put_cert("ca-cert.pem", w.client);
	world_fault(&w, true, "ca-cert.pem: certificate 1: is not the cert");
	/* Clients would refuse the server. */
	put_cert("ca-cert.pem", stranger);
	io_tls_put(world_load(&w, NULL, true));
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.said, "will refuse it"));
	put_cert("ca-cert.pem", w.authority);
	tls_identity_free(other);
	tls_identity_free(stranger);
	loads();
}

static void dates(void **state)
{
	struct tls_identity *old =
		world_make(TLS_SERVER, "old", w.authority, -1, 0);
	struct tls_identity *old_authority =
		world_make(TLS_AUTHORITY, "old", NULL, -1, 0);
	struct tls_wish wish = {.use = TLS_SERVER,
				.common_name = "young",
				.begins = 2,
				.days = 10};
	struct tls_identity *young = NULL;
	char *text;

	(void)state;
	world_put_server(&w, old);
	world_fault(&w, true, "server-cert.pem: has expired");
	assert_int_equal(tls_identity_make(&wish, w.authority, &young), 0);
	world_put_server(&w, young);
	world_fault(&w, true, "server-cert.pem: is not valid yet");
	world_put_server(&w, w.server);
	put_cert("ca-cert.pem", old_authority);
	world_fault(&w, true, "ca-cert.pem: certificate 1: has expired");
	put_cert("ca-cert.pem", w.authority);
	text = tls_revoke(w.authority, NULL, 0, -1);
	world_put(&w, "ca-crl.pem", text, 0644);
	free(text);
	world_fault(&w, true, "ca-crl.pem: list 1: has expired");
	world_put(&w, "ca-crl.pem", NULL, 0);
	tls_identity_free(old);
	tls_identity_free(old_authority);
	tls_identity_free(young);
	loads();
}

static void weak(void **state)
{
	struct tls_identity *server =
		world_make(TLS_SERVER, "weak", w.authority, 10, 1024);

	(void)state;
	world_put_server(&w, server);
	world_fault(&w, true, "server-cert.pem: its key is too weak");
	tls_identity_free(server);
	server = world_make(TLS_SERVER, "rsa", w.authority, 10, 2048);
	world_put_server(&w, server);
	tls_identity_free(server);
	loads();
	world_put_server(&w, w.server);
}

static void open_to_all(void **state)
{
	char *key = tls_identity_key(w.server);

	(void)state;
	world_put(&w, "server-key.pem", key, 0644);
	free(key);
	io_tls_put(world_load(&w, NULL, true));
	assert_int_equal(w.faults, 0);
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.said, "server-key.pem: can be read by every"));
	world_put_server(&w, w.server);
}

/* ------------------------------------------------------- clients' certificates */

/* The server says this about a client; NULL: it is welcome. */
static void client_is(const struct tls_identity *shows, bool verify,
		      const char *reason)
{
	struct client c = {.shows = shows, .trusts = w.authority};
	struct io_tls *tls = world_load(&w, NULL, verify);
	struct pair p;

	assert_non_null(tls);
	for (c.version = TLS1_2_VERSION; c.version <= TLS1_3_VERSION;
	     c.version++) {
		int error = pair_begin(&p, tls, &c);

		if (reason)
			assert_true(error < 0);
		else
			assert_int_equal(error, 0);
		if (reason && !strstr(io_reason(&p.io), reason))
			fail_msg("%s: %s", reason, io_reason(&p.io));
		pair_end(&p);
	}
	io_tls_put(tls);
}

static void clients(void **state)
{
	struct tls_identity *stranger =
		world_make(TLS_AUTHORITY, "stranger", NULL, 10, 0);
	struct tls_identity *foreign =
		world_make(TLS_CLIENT, "client-1", stranger, 10, 0);
	struct tls_identity *old =
		world_make(TLS_CLIENT, "old", w.authority, -1, 0);
	const struct tls_identity *taken[] = {w.client};
	char *text;

	(void)state;
	client_is(w.client, true, NULL);
	client_is(w.client, false, NULL);
	client_is(NULL, true, "it has shown no certificate");
	client_is(NULL, false, NULL);
	client_is(foreign, true, "certificate is refused: unable to get");
	client_is(foreign, false, "certificate is refused: unable to get");
	client_is(old, true, "certificate has expired (/CN=old)");
	/* A server's certificate is none of a client. */
	client_is(w.server, true, "(/CN=server)");
	text = tls_revoke(w.authority, taken, 1, 10);
	world_put(&w, "ca-crl.pem", text, 0644);
	free(text);
	client_is(w.client, true, "certificate revoked (/CN=client-1)");
	world_put(&w, "ca-crl.pem", NULL, 0);
	tls_identity_free(stranger);
	tls_identity_free(foreign);
	tls_identity_free(old);
}

/* The client is the one that refuses. */
static void refused_by_client(void **state)
{
	struct tls_identity *stranger =
		world_make(TLS_AUTHORITY, "stranger", NULL, 10, 0);
	struct client c = {.shows = w.client, .trusts = stranger};
	struct io_tls *tls = world_load(&w, NULL, true);
	struct pair p;

	(void)state;
	assert_true(pair_begin(&p, tls, &c) != 0 || p.refused);
	assert_true(io_tls_handshake(&p.io) < 0);
	assert_non_null(strstr(io_reason(&p.io), "it refuses us: "));
	pair_end(&p);
	io_tls_put(tls);
	tls_identity_free(stranger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(ciphers),
		cmocka_unit_test(no_folder),
		cmocka_unit_test(missing),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(nothing_inside),
		cmocka_unit_test(encrypted),
		cmocka_unit_test(unmatched),
		cmocka_unit_test(dates),
		cmocka_unit_test(weak),
		cmocka_unit_test(open_to_all),
		cmocka_unit_test(clients),
		cmocka_unit_test(refused_by_client),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
