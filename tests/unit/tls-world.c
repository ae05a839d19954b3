/* SPDX-License-Identifier: BSD-3-Clause */
/* See tls-world.h. */
#include "unit/tls-world.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/unit.h"

/* ----------------------------------------------------------------- the folder */

struct tls_identity *world_make(enum tls_use use, const char *name,
				const struct tls_identity *issuer, int days,
				int rsa)
{
	const char *names[] = {"localhost", "127.0.0.1", "urn://disk"};
	struct tls_wish wish = {.use = use,
				.common_name = name,
				.names = names,
				.name_count = use == TLS_AUTHORITY ? 0 : 3,
				.begins = -10,
				.days = days,
				.rsa = rsa};
	struct tls_identity *made = NULL;

	assert_int_equal(tls_identity_make(&wish, issuer, &made), 0);
	return made;
}

void world_put(const struct world *w, const char *file, const char *text,
	       int mode)
{
	char path[128];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", w->dir, file);
	unlink(path);
	if (!text)
		return;
	to = fopen(path, "w");
	assert_non_null(to);
	assert_int_equal(fwrite(text, 1, strlen(text), to), strlen(text));
	assert_int_equal(fclose(to), 0);
	assert_int_equal(chmod(path, mode), 0);
}

void world_put_server(const struct world *w, const struct tls_identity *server)
{
	char *cert = tls_identity_cert(server), *key = tls_identity_key(server);

	world_put(w, "server-cert.pem", cert, 0644);
	world_put(w, "server-key.pem", key, 0600);
	free(cert);
	free(key);
}

void world_begin(struct world *w)
{
	char *text;

	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "/tmp/nbdram-unit-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->authority = world_make(TLS_AUTHORITY, "authority", NULL, 1000, 0);
	w->server = world_make(TLS_SERVER, "server", w->authority, 100, 0);
	w->client = world_make(TLS_CLIENT, "client-1", w->authority, 100, 0);
	text = tls_identity_cert(w->authority);
	world_put(w, "ca-cert.pem", text, 0644);
	free(text);
	world_put_server(w, w->server);
}

void world_end(struct world *w)
{
	static const char *const files[] = {"ca-cert.pem", "ca-crl.pem",
					    "server-cert.pem", "server-key.pem",
					    "keys.psk"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		world_put(w, files[i], NULL, 0);
	assert_int_equal(rmdir(w->dir), 0);
	tls_identity_free(w->authority);
	tls_identity_free(w->server);
	tls_identity_free(w->client);
}

static void note(void *arg, bool warning, const char *text)
{
	struct world *w = arg;
	size_t have = strlen(w->said);

	snprintf(w->said + have, sizeof(w->said) - have, "%s\n", text);
	if (warning)
		w->warnings++;
	else
		w->faults++;
	assert_null(strchr(text, '\n'));
}

struct io_tls *world_load(struct world *w, const char *ciphers, bool verify)
{
	struct io_tls_config config = {
		.dir = w->dir, .ciphers = ciphers, .verify = verify};
	struct io_tls *tls = NULL;

	w->faults = w->warnings = 0;
	w->said[0] = 0;
	if (io_tls_load(&config, &tls, note, w))
		return NULL;
	return tls;
}

void world_fault(struct world *w, bool verify, const char *text)
{
	struct io_tls *tls = world_load(w, NULL, verify);

	if (tls || w->faults != 1 || !strstr(w->said, text))
		print_message("wanted: %s\nsaid: %s", text, w->said);
	assert_null(tls);
	assert_int_equal(w->faults, 1);
	assert_non_null(strstr(w->said, text));
}

/* ----------------------------------------------------------------- the client */

static const struct client *asked;

static unsigned key_12(SSL *ssl, const char *hint, char *user, unsigned most,
		       unsigned char *key, unsigned key_most)
{
	long len = 0;
	unsigned char *bytes = OPENSSL_hexstr2buf(asked->key, &len);

	(void)ssl;
	(void)hint;
	assert_true((unsigned)len <= key_most);
	snprintf(user, most, "%s", asked->user);
	memcpy(key, bytes, len);
	OPENSSL_free(bytes);
	return len;
}

static int key_13(SSL *ssl, const EVP_MD *md, const unsigned char **id,
		  size_t *id_len, SSL_SESSION **session)
{
	static const unsigned char cipher[] = {0x13, 0x01};
	unsigned char *bytes;
	long len = 0;

	*session = NULL;
	if (md && EVP_MD_get_size(md) != 32)
		return 1;
	bytes = OPENSSL_hexstr2buf(asked->key, &len);
	*session = SSL_SESSION_new();
	SSL_SESSION_set1_master_key(*session, bytes, len);
	SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, cipher));
	SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
	OPENSSL_free(bytes);
	*id = (const unsigned char *)asked->user;
	*id_len = strlen(asked->user);
	return 1;
}

static void show(SSL_CTX *ctx, const struct tls_identity *who)
{
	char *cert = tls_identity_cert(who), *key = tls_identity_key(who);
	BIO *b = BIO_new_mem_buf(cert, -1), *k = BIO_new_mem_buf(key, -1);
	X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);
	EVP_PKEY *p = PEM_read_bio_PrivateKey(k, NULL, NULL, NULL);

	assert_int_equal(SSL_CTX_use_certificate(ctx, x), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, p), 1);
	X509_free(x);
	EVP_PKEY_free(p);
	BIO_free(b);
	BIO_free(k);
	free(cert);
	free(key);
}

static void trust(SSL_CTX *ctx, const struct tls_identity *who)
{
	char *cert = tls_identity_cert(who);
	BIO *b = BIO_new_mem_buf(cert, -1);
	X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);

	X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	X509_free(x);
	BIO_free(b);
	free(cert);
}

void pair_sockets(struct pair *p, struct io_tls *tls)
{
	int fds[2];

	memset(p, 0, sizeof(*p));
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	p->fd = fds[1];
	io_plain(&p->io, fds[0]);
	assert_int_equal(io_tls_start(&p->io, tls), 0);
}

int pair_begin(struct pair *p, struct io_tls *tls, const struct client *c)
{
	int result = 0, rounds;

	pair_sockets(p, tls);
	asked = c;
	p->ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_security_level(p->ctx, 0);
	if (c->shows)
		show(p->ctx, c->shows);
	if (c->trusts)
		trust(p->ctx, c->trusts);
	if (c->version) {
		SSL_CTX_set_min_proto_version(p->ctx, c->version);
		SSL_CTX_set_max_proto_version(p->ctx, c->version);
	}
	if (c->ciphers)
		SSL_CTX_set_cipher_list(p->ctx, c->ciphers);
	if (c->ciphersuites)
		SSL_CTX_set_ciphersuites(p->ctx, c->ciphersuites);
	if (c->user) {
		SSL_CTX_set_psk_client_callback(p->ctx, key_12);
		SSL_CTX_set_psk_use_session_callback(p->ctx, key_13);
	}
	p->ssl = SSL_new(p->ctx);
	SSL_set_fd(p->ssl, p->fd);
	p->server = -EAGAIN;
	for (rounds = 0; rounds < 50 && !p->refused; rounds++) {
		if (result != 1) {
			result = SSL_connect(p->ssl);
			p->refused = result != 1 &&
				     SSL_get_error(p->ssl, result) !=
					     SSL_ERROR_WANT_READ;
		}
		ERR_clear_error();
		p->server = io_tls_handshake(&p->io);
		if (p->server != -EAGAIN && result == 1)
			break;
		if (p->server != -EAGAIN && p->server != 0)
			break;
	}
	return p->server;
}

void pair_end(struct pair *p)
{
	io_close(&p->io);
	SSL_free(p->ssl);
	SSL_CTX_free(p->ctx);
	if (p->fd >= 0)
		close(p->fd);
	ERR_clear_error();
}

int client_read(struct pair *p, void *buf, int most)
{
	int done = 0, got;

	while (done < most) {
		ERR_clear_error();
		got = SSL_read(p->ssl, (char *)buf + done, most - done);
		if (got <= 0) {
			if (done > 0 ||
			    SSL_get_error(p->ssl, got) == SSL_ERROR_WANT_READ)
				break;
			return -1;
		}
		done += got;
	}
	return done;
}

void client_write(struct pair *p, const void *buf, int len)
{
	assert_int_equal(SSL_write(p->ssl, buf, len), len);
}
