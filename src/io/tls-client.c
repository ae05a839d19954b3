/* SPDX-License-Identifier: BSD-3-Clause */
/* See tls-client.h. */
#include "tls-client.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "log.h"
#include "tls-ciphers.h"
#include "tls-private.h"

struct io_tls_client {
	SSL_CTX *ctx;
	struct psk_keys *keys; /* NULL: certificates */
	const struct psk_key *key;
};

static int no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static bool set_rules(SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_read_ahead(ctx, 0);
	SSL_CTX_set_max_cert_list(ctx, 64 << 10);
	SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_ciphersuites(ctx, tls_usual_13()) == 1 &&
	       SSL_CTX_set_cipher_list(ctx, tls_usual_12()) == 1;
}

/* ----------------------------------------------------------- certificates */

static void load_certificates(struct io_tls_client *c, struct tls_faults *f,
			      const struct io_tls_client_config *config)
{
	struct tls_have have = {0};
	struct stat st;

	SSL_CTX_set_verify(c->ctx,
			   config->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
			   NULL);
	if (!config->dir) {
		if (SSL_CTX_set_default_verify_paths(c->ctx) != 1)
			tls_fault(f, NULL, "no memory");
		return;
	}
	if (stat(config->dir, &st) < 0) {
		tls_fault(f, NULL, "cannot be opened: %s", strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		tls_fault(f, NULL,
			  "is no folder; tls-certificates is the one that "
			  "ca-cert.pem is in");
		return;
	}
	tls_files_load(f, c->ctx, &have);
	if (!have.authority && config->verify && !f->failed)
		tls_fault(f, "ca-cert.pem",
			  "is not there, and the server's certificate is to be "
			  "compared with it; copy it from the server");
}

/* ------------------------------------------------------- pre-shared keys */

/* For TLS 1.2; and for 1.3, where OpenSSL asks it for lack of another and takes
 * the key with SHA-256, as our servers do. */
static unsigned int ask(SSL *ssl, const char *hint, char *user,
			unsigned int user_most, unsigned char *key,
			unsigned int key_most)
{
	const struct io_tls_client *c =
		SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	(void)hint;
	if (strlen(c->key->user) >= user_most || c->key->len > key_most)
		return 0;
	strcpy(user, c->key->user);
	memcpy(key, c->key->bytes, c->key->len);
	return c->key->len;
}

/* A server that does not know the key must not do with a certificate instead, nor
 * take a cipher that the key does not fit. */
static bool only_psk(SSL_CTX *ctx)
{
	char list[600];

	snprintf(list, sizeof(list), "%s:!aRSA:!aECDSA", tls_usual_12());
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	return SSL_CTX_set_cipher_list(ctx, list) == 1 &&
	       SSL_CTX_set_ciphersuites(ctx, tls_usual_13_sha256()) == 1;
}

static void load_key(struct io_tls_client *c, struct tls_faults *f,
		     const char *file, const char *user)
{
	char shown[130];

	c->keys = psk_load(f, file, true);
	if (!c->keys || f->failed)
		return;
	c->key = psk_find(c->keys, user);
	if (!c->key && user) {
		log_escape(user, strlen(user), shown, sizeof(shown));
		tls_fault(f, file, "there is no user \"%s\" in it", shown);
	} else if (!c->key) {
		tls_fault(f, file,
			  "there is more than one user in it; say which by "
			  "nbds://USER@HOST");
	}
	SSL_CTX_set_app_data(c->ctx, c);
	SSL_CTX_set_psk_client_callback(c->ctx, ask);
	if (!only_psk(c->ctx))
		tls_fault(f, NULL, "no memory");
}

/* A path in two: the folder, which is *dir, and the file, which is returned. */
static const char *divide(const char *path, char **dir)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		*dir = strdup(".");
	else
		*dir = strndup(path, slash == path ? 1 : slash - path);
	return slash ? slash + 1 : path;
}

/* ------------------------------------------------------------------ public */

static int load(struct io_tls_client *c, struct tls_faults *f,
		const struct io_tls_client_config *config)
{
	CLEANUP_FREE char *dir = NULL;
	const char *file;

	c->ctx = SSL_CTX_new(TLS_client_method());
	if (!c->ctx || !set_rules(c->ctx))
		return -ENOMEM;
	if (!config->psk_file) {
		load_certificates(c, f, config);
		return 0;
	}
	file = divide(config->psk_file, &dir);
	if (!dir)
		return -ENOMEM;
	f->dir = dir;
	load_key(c, f, file, config->user);
	f->dir = NULL;
	return 0;
}

int io_tls_client_load(const struct io_tls_client_config *config,
		       struct io_tls_client **client, io_tls_fault *fault,
		       void *arg)
{
	struct tls_faults f = {
		.tell = fault,
		.arg = arg,
		.dir = config->dir ? config->dir : "TLS",
		.cert = "client-cert.pem",
		.key = "client-key.pem",
	};
	struct io_tls_client *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return -ENOMEM;
	ERR_clear_error();
	error = load(c, &f, config);
	ERR_clear_error();
	if (!error && f.failed)
		error = -EINVAL;
	if (error)
		io_tls_client_free(c);
	else
		*client = c;
	return error;
}

void io_tls_client_free(struct io_tls_client *c)
{
	if (!c)
		return;
	SSL_CTX_free(c->ctx);
	psk_free(c->keys);
	free(c);
}

SSL_CTX *io_tls_client_context(const struct io_tls_client *c)
{
	return c->ctx;
}

const char *io_tls_client_user(const struct io_tls_client *c)
{
	return c->key ? c->key->user : NULL;
}
