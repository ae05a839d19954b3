/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures in words. What OpenSSL says is for those who know its source; an
 * administrator wants to know which file to look at. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "log.h"
#include "tls-client.h"
#include "tls-private.h"

#define TEXT_MOST 400

/* What its user did wrong, if it has named one. */
static bool about_key(const struct tls_stream *t, char *buf, size_t size)
{
	char name[128];

	if (!t->user)
		return false;
	log_escape(t->user, strlen(t->user), name, sizeof(name));
	if (t->key_fake)
		snprintf(buf, size, "keys.psk has no user \"%s\"", name);
	else
		snprintf(buf, size, "user \"%s\" of keys.psk has another key",
			 name);
	return true;
}

static const struct {
	int reason;
	const char *text;
} texts[] = {
	{SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE,
	 "it has shown no certificate"},
	{SSL_R_NO_SHARED_CIPHER,
	 "it has no cipher in common with us, or neither a certificate of ours "
	 "nor a key fits it"},
	{SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM,
	 "it can do nothing with our kind of certificate"},
	{SSL_R_UNSUPPORTED_PROTOCOL, "its TLS is older than 1.2"},
	{SSL_R_VERSION_TOO_LOW, "its TLS is older than 1.2"},
	{SSL_R_WRONG_VERSION_NUMBER, "it does not speak TLS"},
	{SSL_R_HTTP_REQUEST, "it does not speak TLS"},
	{SSL_R_HTTPS_PROXY_REQUEST, "it does not speak TLS"},
	{SSL_R_NO_PROTOCOLS_AVAILABLE, "its TLS is older than 1.2"},
	{SSL_R_UNEXPECTED_EOF_WHILE_READING, "it has gone"},
};

unsigned long io_tls_first_error(void)
{
	unsigned long chosen = 0, e;

	while ((e = ERR_get_error())) {
		if (!chosen || (ERR_GET_LIB(chosen) != ERR_LIB_SSL &&
				ERR_GET_LIB(e) == ERR_LIB_SSL))
			chosen = e;
	}
	return chosen;
}

static void about_queue(struct tls_stream *t, char *buf, size_t size)
{
	unsigned long e = io_tls_first_error();
	int reason = ERR_GET_LIB(e) == ERR_LIB_SSL ? ERR_GET_REASON(e) : 0;
	const char *words = e ? ERR_reason_error_string(e) : NULL;
	unsigned i;

	if (!words)
		words = "unknown";
	if (t->refused) {
		snprintf(buf, size, "its certificate is refused: %s",
			 t->refused);
		return;
	}
	/* Alerts have numbers of their own. */
	if (reason >= SSL_AD_REASON_OFFSET) {
		snprintf(buf, size, "it refuses us: %s", words);
		return;
	}
	if (!t->secured && about_key(t, buf, size))
		return;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].reason == reason) {
			snprintf(buf, size, "%s", texts[i].text);
			return;
		}
	}
	snprintf(buf, size, "what comes from it is no good TLS: %s", words);
}

int tls_verified(int ok, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(
		store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_stream *t = SSL_get_app_data(ssl);
	X509 *cert = X509_STORE_CTX_get_current_cert(store);
	char *subject = NULL, name[160] = "?", text[TEXT_MOST];

	if (ok)
		return ok;
	if (cert)
		subject =
			X509_NAME_oneline(X509_get_subject_name(cert), NULL, 0);
	if (subject)
		log_escape(subject, strlen(subject), name, sizeof(name));
	OPENSSL_free(subject);
	snprintf(text, sizeof(text), "%s (%s)",
		 X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)),
		 name);
	free(t->refused);
	t->refused = strdup(text);
	return 0;
}

int tls_failed(struct tls_stream *t, int error, const char *what)
{
	char text[TEXT_MOST];

	if (t->error)
		return t->error;
	if (!what) {
		about_queue(t, text, sizeof(text));
		what = text;
	}
	ERR_clear_error();
	t->error = error;
	t->reason = strdup(what);
	return error;
}

const char *io_reason(const struct io *io)
{
	return io->tls && io->tls->reason ? io->tls->reason
					  : "the connection is gone";
}
