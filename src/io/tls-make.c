/* SPDX-License-Identifier: BSD-3-Clause */
/* See tls-make.h. */
#include "tls-make.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define DAY (24L * 3600)

struct tls_identity {
	X509 *cert;
	EVP_PKEY *key;
};

void tls_identity_free(struct tls_identity *identity)
{
	if (!identity)
		return;
	X509_free(identity->cert);
	EVP_PKEY_free(identity->key);
	free(identity);
}

/* ---------------------------------------------------------------- making it */

static int extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;
	int good;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	good = ext && X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
	return good ? 0 : -ENOMEM;
}

/* A name for subjectAltName; NULL: no memory, or nothing of that kind. */
static GENERAL_NAME *alternative(const char *text)
{
	ASN1_STRING *string;
	ASN1_OCTET_STRING *address = a2i_IPADDRESS(text);
	GENERAL_NAME *name = GENERAL_NAME_new();

	if (name && address) {
		GENERAL_NAME_set0_value(name, GEN_IPADD, address);
		return name;
	}
	string = ASN1_IA5STRING_new();
	if (!name || !string || !*text ||
	    !ASN1_STRING_set(string, text, strlen(text))) {
		ASN1_STRING_free(string);
		GENERAL_NAME_free(name);
		return NULL;
	}
	GENERAL_NAME_set0_value(name, strstr(text, "://") ? GEN_URI : GEN_DNS,
				string);
	return name;
}

/* Put there one by one: in OpenSSL's way as a text, commas would be taken for
 * more than they are. */
static int alternatives(X509 *cert, const struct tls_wish *wish)
{
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	GENERAL_NAME *name;
	int good = names != NULL;
	unsigned i;

	for (i = 0; good && i < wish->name_count; i++) {
		name = alternative(wish->names[i]);
		good = name && sk_GENERAL_NAME_push(names, name);
		if (!good)
			GENERAL_NAME_free(name);
	}
	if (good && wish->name_count > 0)
		good = X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0,
					 0) == 1;
	sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
	return good ? 0 : -EINVAL;
}

static int set_extensions(X509 *cert, X509 *issuer, const struct tls_wish *wish)
{
	bool authority = wish->use == TLS_AUTHORITY;
	int error;

	error = extension(cert, issuer, NID_basic_constraints,
			  authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
	if (!error)
		error = extension(cert, issuer, NID_key_usage,
				  authority   ? "critical,keyCertSign,cRLSign"
				  : wish->rsa ? "critical,digitalSignature,"
						"keyEncipherment"
					      : "critical,digitalSignature");
	if (!error && !authority)
		error = extension(cert, issuer, NID_ext_key_usage,
				  wish->use == TLS_SERVER ? "serverAuth"
							  : "clientAuth");
	if (!error)
		error = extension(cert, issuer, NID_subject_key_identifier,
				  "hash");
	if (!error)
		error = extension(cert, issuer, NID_authority_key_identifier,
				  "keyid");
	return error ? error : alternatives(cert, wish);
}

static int set_serial(X509 *cert)
{
	unsigned char bytes[16];
	BIGNUM *number;
	int good;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return -EIO;
	/* Positive, and never 0. */
	bytes[0] = (bytes[0] & 0x7f) | 0x40;
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	good = number &&
	       BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
	BN_free(number);
	return good ? 0 : -ENOMEM;
}

static int fill(struct tls_identity *new, const struct tls_wish *wish,
		const struct tls_identity *issuer)
{
	X509 *cert = new->cert;
	const struct tls_identity *by = issuer ? issuer : new;
	int error;

	if (X509_set_version(cert, X509_VERSION_3) != 1 ||
	    X509_NAME_add_entry_by_NID(
		    X509_get_subject_name(cert), NID_commonName, MBSTRING_UTF8,
		    (const unsigned char *)wish->common_name, -1, -1, 0) != 1)
		return -EINVAL;
	error = set_serial(cert);
	if (error)
		return error;
	/* An hour ago: clocks differ. */
	if (!X509_gmtime_adj(X509_getm_notBefore(cert),
			     wish->begins * DAY - 3600) ||
	    !X509_gmtime_adj(X509_getm_notAfter(cert), wish->days * DAY) ||
	    X509_set_issuer_name(cert, X509_get_subject_name(by->cert)) != 1 ||
	    X509_set_pubkey(cert, new->key) != 1)
		return -ENOMEM;
	error = set_extensions(cert, by->cert, wish);
	if (!error && X509_sign(cert, by->key, EVP_sha256()) == 0)
		error = -ENOMEM;
	return error;
}

int tls_identity_make(const struct tls_wish *wish,
		      const struct tls_identity *issuer,
		      struct tls_identity **identity)
{
	struct tls_identity *new = calloc(1, sizeof(*new));
	int error = -ENOMEM;

	if (new) {
		new->cert = X509_new();
		new->key = wish->rsa ? EVP_RSA_gen(wish->rsa)
				     : EVP_EC_gen("P-256");
	}
	if (new &&new->cert &&new->key)
		error = fill(new, wish, issuer);
	ERR_clear_error();
	if (error) {
		tls_identity_free(new);
		return error;
	}
	*identity = new;
	return 0;
}

/* ------------------------------------------------------------------- as text */

/* All that was written to b, which is freed. */
static char *text_of(BIO *b, int good)
{
	char *text = NULL, *data;
	long len;

	if (b && good == 1) {
		len = BIO_get_mem_data(b, &data);
		text = strndup(data, len);
		OPENSSL_cleanse(data, len);
	}
	BIO_free(b);
	ERR_clear_error();
	return text;
}

char *tls_identity_cert(const struct tls_identity *identity)
{
	BIO *b = BIO_new(BIO_s_mem());

	return text_of(b, b ? PEM_write_bio_X509(b, identity->cert) : 0);
}

char *tls_identity_key(const struct tls_identity *identity)
{
	BIO *b = BIO_new(BIO_s_mem());

	return text_of(b, b ? PEM_write_bio_PrivateKey(b, identity->key, NULL,
						       NULL, 0, NULL, NULL)
			    : 0);
}

int tls_identity_read(const char *cert, const char *key,
		      struct tls_identity **identity)
{
	struct tls_identity *new = calloc(1, sizeof(*new));
	BIO *cert_text = BIO_new_mem_buf(cert, -1);
	BIO *key_text = BIO_new_mem_buf(key, -1);
	bool good = false;

	if (new &&cert_text && key_text) {
		new->cert = PEM_read_bio_X509(cert_text, NULL, NULL, NULL);
		/* No passphrase is asked for. */
		new->key = PEM_read_bio_PrivateKey(key_text, NULL, NULL, "");
		good = new->cert &&new->key &&X509_check_private_key(
			       new->cert, new->key) == 1;
	}
	BIO_free(cert_text);
	BIO_free(key_text);
	ERR_clear_error();
	if (!good) {
		tls_identity_free(new);
		return -EINVAL;
	}
	*identity = new;
	return 0;
}

/* ------------------------------------------------------------------ the rest */

static int revoke_one(X509_CRL *crl, const struct tls_identity *who,
		      ASN1_TIME *when)
{
	X509_REVOKED *entry = X509_REVOKED_new();

	if (!entry)
		return 0;
	if (X509_REVOKED_set_serialNumber(
		    entry, X509_get_serialNumber(who->cert)) != 1 ||
	    X509_REVOKED_set_revocationDate(entry, when) != 1 ||
	    X509_CRL_add0_revoked(crl, entry) != 1) {
		X509_REVOKED_free(entry);
		return 0;
	}
	return 1;
}

char *tls_revoke(const struct tls_identity *issuer,
		 const struct tls_identity *const *taken, unsigned count,
		 int days)
{
	X509_CRL *crl = X509_CRL_new();
	ASN1_TIME *now = X509_gmtime_adj(NULL, -2 * DAY);
	ASN1_TIME *until = X509_gmtime_adj(NULL, days * DAY);
	BIO *b = BIO_new(BIO_s_mem());
	int good = crl && now && until && b;
	unsigned i;

	good = good && X509_CRL_set_version(crl, X509_CRL_VERSION_2) == 1 &&
	       X509_CRL_set_issuer_name(
		       crl, X509_get_subject_name(issuer->cert)) == 1 &&
	       X509_CRL_set1_lastUpdate(crl, now) == 1 &&
	       X509_CRL_set1_nextUpdate(crl, until) == 1;
	for (i = 0; good && i < count; i++)
		good = revoke_one(crl, taken[i], now);
	good = good && X509_CRL_sort(crl) == 1 &&
	       X509_CRL_sign(crl, issuer->key, EVP_sha256()) > 0 &&
	       PEM_write_bio_X509_CRL(b, crl) == 1;
	X509_CRL_free(crl);
	ASN1_TIME_free(now);
	ASN1_TIME_free(until);
	return text_of(b, good);
}

int tls_key_make(char *text, size_t len)
{
	unsigned char byte;
	size_t i;

	*text = 0;
	for (i = 0; i < len; i++) {
		if (RAND_bytes(&byte, 1) != 1)
			return -EIO;
		snprintf(text + 2 * i, 3, "%02x", byte);
	}
	return 0;
}
