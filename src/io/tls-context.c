/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: what OpenSSL is told once for many streams. See tls.h. */
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "cleanup.h"
#include "tls-ciphers.h"
#include "tls-private.h"

/* ----------------------------------------------------------------- ciphers */

/* OpenSSL passes over names of TLS 1.3 that it does not know. */
static bool known_13(const char *name, size_t len)
{
	static const char *const names[] = {
		"TLS_AES_128_GCM_SHA256",	"TLS_AES_256_GCM_SHA384",
		"TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256",
		"TLS_AES_128_CCM_8_SHA256",
	};
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return true;
	}
	return false;
}

/* Divide the names into those of 1.3 and the others. Both have room. */
static bool divide(struct tls_faults *f, const char *from, char *new_13,
		   char *new_12)
{
	const char *at, *end;
	char *to;

	*new_13 = *new_12 = 0;
	for (at = from; *at; at = *end ? end + 1 : end) {
		size_t len = strcspn(at, ":");

		end = at + len;
		if (len == 0)
			continue;
		to = strncmp(at, "TLS_", 4) == 0 ? new_13 : new_12;
		if (to == new_13 && !known_13(at, len)) {
			tls_fault(f, NULL,
				  "tls-ciphers: there is no cipher \"%.*s\" in "
				  "TLS 1.3; see openssl ciphers",
				  (int)min_u64(len, 60), at);
			return false;
		}
		if (*to)
			strcat(to, ":");
		strncat(to, at, len);
	}
	return true;
}

/* OpenSSL passes over names of TLS 1.2 that it does not know, as long as it knows
 * one; and orders to itself (@) are no ciphers. */
static bool known_12(struct tls_faults *f, char *names)
{
	SSL_CTX *alone = SSL_CTX_new(TLS_server_method());
	char *name, *next = NULL;
	bool good = alone != NULL;

	for (name = strtok_r(names, ":", &next); good && name;
	     name = strtok_r(NULL, ":", &next)) {
		if (strchr("!-+", *name))
			continue;
		good = *name != '@' &&
		       SSL_CTX_set_cipher_list(alone, name) == 1;
		if (!good)
			tls_fault(f, NULL,
				  "tls-ciphers: there is no cipher \"%.60s\" "
				  "in TLS 1.2; see openssl ciphers",
				  name);
	}
	SSL_CTX_free(alone);
	ERR_clear_error();
	return good;
}

/* Without encryption, without authentication, or so weak that it is neither. */
static void refuse_weak(struct tls_faults *f, SSL_CTX *ctx)
{
	STACK_OF(SSL_CIPHER) *list = SSL_CTX_get_ciphers(ctx);
	const SSL_CIPHER *c;
	int i;

	for (i = 0; i < sk_SSL_CIPHER_num(list); i++) {
		c = sk_SSL_CIPHER_value(list, i);
		if (SSL_CIPHER_get_bits(c, NULL) >= 128 &&
		    SSL_CIPHER_get_auth_nid(c) != NID_auth_null)
			continue;
		tls_fault(f, NULL,
			  "tls-ciphers: %s is no protection; leave it out",
			  SSL_CIPHER_get_name(c));
		return;
	}
}

static void set_ciphers(struct tls_faults *f, SSL_CTX *ctx, const char *ciphers)
{
	size_t room = ciphers ? strlen(ciphers) + 1 : 1;
	CLEANUP_FREE char *new_13 = calloc(1, room);
	CLEANUP_FREE char *new_12 = calloc(1, room);

	if (!new_13 || !new_12) {
		tls_fault(f, NULL, "no memory");
		return;
	}
	if (ciphers && !divide(f, ciphers, new_13, new_12))
		return;
	if (SSL_CTX_set_ciphersuites(ctx, *new_13 ? new_13 : tls_usual_13()) !=
		    1 ||
	    SSL_CTX_set_cipher_list(ctx, *new_12 ? new_12 : tls_usual_12()) !=
		    1)
		tls_fault(f, NULL,
			  "tls-ciphers: there is no cipher in \"%.200s\"; see "
			  "openssl ciphers",
			  ciphers ? ciphers : "");
	else if (*new_12 && known_12(f, new_12))
		refuse_weak(f, ctx);
}

/* Keys of keys.psk are used with SHA-256. */
static void warn_keys(struct tls_faults *f, SSL_CTX *ctx)
{
	STACK_OF(SSL_CIPHER) *list = SSL_CTX_get_ciphers(ctx);
	const SSL_CIPHER *c;
	int i;

	for (i = 0; i < sk_SSL_CIPHER_num(list); i++) {
		c = sk_SSL_CIPHER_value(list, i);
		if (strncmp(SSL_CIPHER_get_name(c), "TLS_", 4) == 0 &&
		    SSL_CIPHER_get_handshake_digest(c) == EVP_sha256())
			return;
	}
	tls_warning(f, NULL,
		    "tls-ciphers: keys.psk is of no use in TLS 1.3 without "
		    "TLS_AES_128_GCM_SHA256");
}

/* ------------------------------------------------------------------ making */

/* What is the same for all. */
static int set_rules(SSL_CTX *ctx)
{
	static const unsigned char name[] = "nbdram";

	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_num_tickets(ctx, 0) != 1 ||
	    SSL_CTX_set_session_id_context(ctx, name, sizeof(name) - 1) != 1 ||
	    SSL_CTX_set_max_early_data(ctx, 0) != 1 ||
	    SSL_CTX_set_dh_auto(ctx, 1) != 1)
		return -ENOMEM;
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_ENABLE_KTLS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	/* Who is silent holds no buffers. */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_max_cert_list(ctx, 64 << 10);
	return 0;
}

/* Do the files go together with what is asked for? */
static void set_verify(struct tls_faults *f, SSL_CTX *ctx,
		       const struct io_tls_config *config,
		       const struct tls_have *have, bool keys)
{
	int mode = SSL_VERIFY_NONE;

	if (!have->certificate && !keys) {
		if (!f->failed)
			tls_fault(f, NULL,
				  "there is neither server-cert.pem nor "
				  "keys.psk in it; nbdramctl tls-init makes "
				  "them");
		return;
	}
	if (have->authority)
		mode = SSL_VERIFY_PEER;
	if (have->authority && config->verify)
		mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	if (!have->authority && have->certificate && config->verify)
		tls_fault(f, "ca-cert.pem",
			  "is not there, and clients' certificates are to be "
			  "compared with it; put it there, or say "
			  "tls-verify = no to have clients without");
	SSL_CTX_set_verify(ctx, mode, tls_verified);
}

static void load(struct io_tls *tls, struct tls_faults *f,
		 const struct io_tls_config *config)
{
	struct tls_have have = {0};

	if (set_rules(tls->ctx)) {
		tls_fault(f, NULL, "no memory");
		return;
	}
	set_ciphers(f, tls->ctx, config->ciphers);
	tls_files_load(f, tls->ctx, &have);
	tls->keys = psk_load(f, "keys.psk", false);
	if (tls->keys) {
		psk_use(tls->ctx);
		warn_keys(f, tls->ctx);
	}
	set_verify(f, tls->ctx, config, &have, tls->keys != NULL);
}

int io_tls_load(const struct io_tls_config *config, struct io_tls **result,
		io_tls_fault *fault, void *arg)
{
	struct tls_faults f = {
		.tell = fault,
		.arg = arg,
		.dir = config->dir,
		.cert = "server-cert.pem",
		.key = "server-key.pem",
		.server = true,
	};
	struct io_tls *tls = calloc(1, sizeof(*tls));
	struct stat st;

	ERR_clear_error();
	f.digest = EVP_MD_CTX_new();
	if (tls)
		tls->ctx = SSL_CTX_new(TLS_server_method());
	if (!tls || !tls->ctx || !f.digest ||
	    EVP_DigestInit(f.digest, EVP_sha256()) != 1) {
		if (tls)
			SSL_CTX_free(tls->ctx);
		EVP_MD_CTX_free(f.digest);
		free(tls);
		return -ENOMEM;
	}
	atomic_init(&tls->refs, 1);
	if (stat(config->dir, &st) < 0)
		tls_fault(&f, NULL, "cannot be opened: %s%s", strerror(errno),
			  errno == ENOENT ? " (nbdramctl tls-init makes one)"
					  : "");
	else if (!S_ISDIR(st.st_mode))
		tls_fault(&f, NULL, "is no folder");
	else
		load(tls, &f, config);
	EVP_DigestFinal(f.digest, tls->digest, NULL);
	EVP_MD_CTX_free(f.digest);
	ERR_clear_error();
	if (f.failed) {
		io_tls_put(tls);
		return -EINVAL;
	}
	*result = tls;
	return 0;
}

bool io_tls_same(const struct io_tls *a, const struct io_tls *b)
{
	return memcmp(a->digest, b->digest, sizeof(a->digest)) == 0;
}

struct io_tls *io_tls_get(struct io_tls *tls)
{
	atomic_fetch_add(&tls->refs, 1);
	return tls;
}

void io_tls_put(struct io_tls *tls)
{
	if (!tls || atomic_fetch_sub(&tls->refs, 1) > 1)
		return;
	SSL_CTX_free(tls->ctx);
	psk_free(tls->keys);
	free(tls);
}
