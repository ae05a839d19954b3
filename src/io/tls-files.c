/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a tls-dir, and of a client's folder: read, understood, and compared with each other, so that
 * what would go wrong at a client's first try is told at the start. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "tls-private.h"

#define FILE_MOST (1u << 20)
#define TEXT_MOST 600

#define CA "ca-cert.pem"
#define CRL "ca-crl.pem"

/* Less than what 2048 bits of RSA are thought to be worth. */
#define STRENGTH_LEAST 112
/* Of the hash under a signature: SHA-1 has 63. */
#define HASH_LEAST 80

/* ------------------------------------------------------------------ faults */

static void tell(struct tls_faults *f, bool warning, const char *file,
		 const char *format, va_list args)
{
	char what[TEXT_MOST], text[TEXT_MOST + 300];

	vsnprintf(what, sizeof(what), format, args);
	snprintf(text, sizeof(text), "%s%s%s: %s", f->dir, file ? "/" : "",
		 file ? file : "", what);
	f->tell(f->arg, warning, text);
	f->failed = f->failed || !warning;
	ERR_clear_error();
}

void tls_fault(struct tls_faults *f, const char *file, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(f, false, file, format, args);
	va_end(args);
}

void tls_warning(struct tls_faults *f, const char *file, const char *format,
		 ...)
{
	va_list args;

	va_start(args, format);
	tell(f, true, file, format, args);
	va_end(args);
}

/* ----------------------------------------------------------------- reading */

/* A file that can be read to its end, as it says itself. */
static bool look_at(struct tls_faults *f, const char *file, int fd, bool secret,
		    size_t *len)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		tls_fault(f, file, "cannot be looked at: %s", strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		tls_fault(f, file, "is no file");
		return false;
	}
	if (st.st_size > FILE_MOST) {
		tls_fault(f, file, "is larger than 1 MiB");
		return false;
	}
	if (secret && st.st_mode & S_IROTH)
		tls_warning(f, file,
			    "can be read by everybody on this host; chmod o= "
			    "it");
	*len = st.st_size;
	return true;
}

static char *read_all(struct tls_faults *f, const char *file, int fd,
		      size_t *len)
{
	char *text = malloc(*len + 1);
	size_t have = 0;
	ssize_t got = 1;

	while (text && have < *len && got > 0) {
		got = read(fd, text + have, *len - have);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			have += got;
	}
	if (!text || got < 0) {
		tls_fault(f, file, "cannot be read: %s",
			  text ? strerror(errno) : "no memory");
		tls_file_free(text, have);
		return NULL;
	}
	text[have] = 0;
	*len = have;
	/* With their ends, so that nothing can move from one to another. */
	if (f->digest) {
		EVP_DigestUpdate(f->digest, file, strlen(file) + 1);
		EVP_DigestUpdate(f->digest, text, have + 1);
	}
	return text;
}

char *tls_file_read(struct tls_faults *f, const char *file, bool needed,
		    bool secret, size_t *len)
{
	CLEANUP_CLOSE int fd = -1;
	CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", f->dir, file) < 0) {
		path = NULL;
		tls_fault(f, file, "no memory");
		return NULL;
	}
	/* A pipe by that name must not make us wait. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		if (needed || errno != ENOENT)
			tls_fault(f, file, "cannot be opened: %s",
				  strerror(errno));
		return NULL;
	}
	if (!look_at(f, file, fd, secret, len))
		return NULL;
	return read_all(f, file, fd, len);
}

void tls_file_free(char *text, size_t len)
{
	if (text)
		OPENSSL_cleanse(text, len);
	free(text);
}

/* ----------------------------------------------------------- certificates */

/* All of a file; the first one is *first if wanted. NULL after a fault, or if
 * there is no such file. */
static STACK_OF(X509) *
	read_certs(struct tls_faults *f, const char *file, bool needed)
{
	STACK_OF(X509) *certs = NULL;
	size_t len;
	char *text = tls_file_read(f, file, needed, false, &len);
	BIO *b = text ? BIO_new_mem_buf(text, len) : NULL;
	X509 *cert;

	if (b)
		certs = sk_X509_new_null();
	while (certs && (cert = PEM_read_bio_X509(b, NULL, NULL, NULL))) {
		if (!sk_X509_push(certs, cert))
			X509_free(cert);
	}
	if (certs &&
	    (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE ||
	     sk_X509_num(certs) == 0)) {
		tls_fault(f, file,
			  sk_X509_num(certs) == 0
				  ? "there is no certificate in it (PEM)"
				  : "certificate %d of it is damaged",
			  sk_X509_num(certs) + 1);
		sk_X509_pop_free(certs, X509_free);
		certs = NULL;
	}
	ERR_clear_error();
	BIO_free(b);
	tls_file_free(text, len);
	return certs;
}

/* NULL, or what is wrong with its dates. */
static const char *dated(const ASN1_TIME *from, const ASN1_TIME *until)
{
	if (from && X509_cmp_current_time(from) > 0)
		return "is not valid yet; is the clock right?";
	if (until && X509_cmp_current_time(until) < 0)
		return "has expired; make a new one";
	return NULL;
}

static const char *cert_dated(const X509 *cert)
{
	return dated(X509_get0_notBefore(cert), X509_get0_notAfter(cert));
}

/* NULL, or what is weak. */
static const char *weak(X509 *cert)
{
	EVP_PKEY *key = X509_get0_pubkey(cert);
	int hash = HASH_LEAST;

	if (!key || EVP_PKEY_get_security_bits(key) < STRENGTH_LEAST)
		return "its key is too weak; take RSA of 2048 bits or more, or "
		       "EC of 256";
	X509_get_signature_info(cert, NULL, NULL, &hash, NULL);
	/* Nobody looks at how a root has signed itself. */
	if (hash < HASH_LEAST && !(X509_get_extension_flags(cert) & EXFLAG_SS))
		return "it is signed with a hash that is too weak; take "
		       "SHA-256";
	return NULL;
}

/* ---------------------------------------------------------------- the key */

static int no_passphrase(char *buf, int size, int writing, void *asked)
{
	(void)buf;
	(void)size;
	(void)writing;
	*(bool *)asked = true;
	return -1;
}

static EVP_PKEY *read_key(struct tls_faults *f)
{
	size_t len;
	char *text = tls_file_read(f, f->key, true, true, &len);
	BIO *b = text ? BIO_new_mem_buf(text, len) : NULL;
	bool encrypted = false;
	EVP_PKEY *key = NULL;

	if (b)
		key = PEM_read_bio_PrivateKey(b, NULL, no_passphrase,
					      &encrypted);
	if (b && encrypted)
		tls_fault(f, f->key,
			  "is encrypted, and there is nobody to ask for its "
			  "passphrase; decrypt it by openssl pkey");
	else if (b && !key)
		tls_fault(f, f->key, "there is no private key in it (PEM)");
	BIO_free(b);
	tls_file_free(text, len);
	ERR_clear_error();
	return key;
}

/* ------------------------------------------------------------ what is ours */

static void use_own(struct tls_faults *f, SSL_CTX *ctx, STACK_OF(X509) * certs,
		    EVP_PKEY *key)
{
	X509 *cert = sk_X509_value(certs, 0);
	const char *wrong = cert_dated(cert);
	int i;

	if (wrong)
		tls_fault(f, f->cert, "%s", wrong);
	wrong = weak(cert);
	if (wrong)
		tls_fault(f, f->cert, "%s", wrong);
	if (X509_check_private_key(cert, key) != 1) {
		tls_fault(f, f->cert, "does not belong to the key in %s",
			  f->key);
		return;
	}
	if (f->failed)
		return;
	if (SSL_CTX_use_certificate(ctx, cert) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, key) != 1) {
		tls_fault(f, f->cert, "cannot be used: %s",
			  ERR_reason_error_string(ERR_peek_last_error()));
		return;
	}
	for (i = 1; i < sk_X509_num(certs); i++) {
		if (SSL_CTX_add1_chain_cert(ctx, sk_X509_value(certs, i)) != 1)
			tls_fault(
				f, f->cert, "its chain cannot be used: %s",
				ERR_reason_error_string(ERR_peek_last_error()));
	}
}

/* ---------------------------------------------------------- the authority */

static void use_authority(struct tls_faults *f, SSL_CTX *ctx,
			  STACK_OF(X509) * certs)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	const char *wrong;
	int i;

	for (i = 0; i < sk_X509_num(certs); i++) {
		X509 *cert = sk_X509_value(certs, i);

		wrong = cert_dated(cert);
		if (!wrong)
			wrong = weak(cert);
		if (!wrong && X509_check_ca(cert) == 0)
			wrong = "is not the certificate of an authority";
		if (wrong)
			tls_fault(f, CA, "certificate %d: %s", i + 1, wrong);
		else if (X509_STORE_add_cert(store, cert) != 1 ||
			 SSL_CTX_add_client_CA(ctx, cert) != 1)
			tls_fault(f, CA, "certificate %d: no memory", i + 1);
	}
}

static bool signed_by(X509_CRL *crl, STACK_OF(X509) * authority)
{
	int i;

	for (i = 0; i < sk_X509_num(authority); i++) {
		X509 *cert = sk_X509_value(authority, i);

		if (X509_CRL_verify(crl, X509_get0_pubkey(cert)) == 1)
			return true;
	}
	ERR_clear_error();
	return false;
}

static void use_crl(struct tls_faults *f, X509_STORE *store, X509_CRL *crl,
		    STACK_OF(X509) * authority, int number)
{
	const char *wrong = dated(X509_CRL_get0_lastUpdate(crl),
				  X509_CRL_get0_nextUpdate(crl));

	if (wrong)
		tls_fault(f, CRL, "list %d: %s", number, wrong);
	else if (!signed_by(crl, authority))
		tls_fault(f, CRL, "list %d: no authority of %s has signed it",
			  number, CA);
	else if (X509_STORE_add_crl(store, crl) != 1)
		tls_fault(f, CRL, "list %d: no memory", number);
}

static void load_crl(struct tls_faults *f, SSL_CTX *ctx,
		     STACK_OF(X509) * authority)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	size_t len;
	char *text = tls_file_read(f, CRL, false, false, &len);
	BIO *b = text ? BIO_new_mem_buf(text, len) : NULL;
	X509_CRL *crl;
	int n = 0;

	while (b && (crl = PEM_read_bio_X509_CRL(b, NULL, NULL, NULL))) {
		use_crl(f, store, crl, authority, ++n);
		X509_CRL_free(crl);
	}
	if (b && n == 0)
		tls_fault(f, CRL,
			  "there is no list of revoked certificates in it "
			  "(PEM)");
	else if (b &&
		 ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		tls_fault(f, CRL, "list %d of it is damaged", n + 1);
	if (b)
		X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
	BIO_free(b);
	tls_file_free(text, len);
	ERR_clear_error();
}

/* Clients have the same ca-cert.pem, as a rule. */
static void compare(struct tls_faults *f, SSL_CTX *ctx, STACK_OF(X509) * server)
{
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	int good = 1, error = 0;

	if (check && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(ctx),
					 sk_X509_value(server, 0), server)) {
		X509_STORE_CTX_set_purpose(check, X509_PURPOSE_SSL_SERVER);
		good = X509_verify_cert(check);
		error = X509_STORE_CTX_get_error(check);
	}
	X509_STORE_CTX_free(check);
	if (good != 1)
		tls_warning(f, f->cert,
			    "clients that have this %s will refuse it: %s", CA,
			    X509_verify_cert_error_string(error));
}

void tls_files_load(struct tls_faults *f, SSL_CTX *ctx, struct tls_have *have)
{
	STACK_OF(X509) *own = read_certs(f, f->cert, false);
	STACK_OF(X509) *authority = read_certs(f, CA, false);
	EVP_PKEY *key = own ? read_key(f) : NULL;

	if (own && key)
		use_own(f, ctx, own, key);
	if (authority) {
		use_authority(f, ctx, authority);
		load_crl(f, ctx, authority);
	}
	/* A client may well have one of another authority. */
	if (f->server && own && authority && !f->failed)
		compare(f, ctx, own);
	have->certificate = own && key;
	have->authority = authority;
	EVP_PKEY_free(key);
	sk_X509_pop_free(own, X509_free);
	sk_X509_pop_free(authority, X509_free);
}
