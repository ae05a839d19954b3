/* SPDX-License-Identifier: BSD-3-Clause */
/* Why TLS has failed, in words that say which file to look at, on which host. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "log.h"
#include "secure.h"

/* ------------------------------------------------ the server's certificate */

static const char *about_issuer(const struct attach_secure *s)
{
	return s->peer->trusted
		       ? "none of the authorities in our ca-cert.pem has "
			 "signed it; copy ca-cert.pem from that server"
		       : "none of the authorities that this host trusts has "
			 "signed it; tls-certificates= names a folder with "
			 "ca-cert.pem";
}

/* NULL: OpenSSL's own words. */
static const char *about_certificate(const struct attach_secure *s, int error)
{
	switch (error) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "it has expired; make a new one there";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "it is not valid yet; is the clock right?";
	case X509_V_ERR_CERT_REVOKED:
		return "it has been revoked";
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "it is for another host; tls-hostname= says which one "
		       "is to be expected";
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		return about_issuer(s);
	}
	return NULL;
}

int attach_secure_verified(int ok, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(
		store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct attach_secure *s = SSL_get_app_data(ssl);
	X509 *cert = X509_STORE_CTX_get_current_cert(store);
	int error = X509_STORE_CTX_get_error(store);
	const char *words = about_certificate(s, error);
	char *subject = NULL, name[80] = "?";

	if (ok)
		return ok;
	if (cert)
		subject =
			X509_NAME_oneline(X509_get_subject_name(cert), NULL, 0);
	if (subject)
		log_escape(subject, strlen(subject), name, sizeof(name));
	OPENSSL_free(subject);
	snprintf(s->refused, sizeof(s->refused), "(%s): %s", name,
		 words ? words : X509_verify_cert_error_string(error));
	return 0;
}

/* ------------------------------------------------------------------ alerts */

static const struct {
	int alert;
	const char *text;
} alerts[] = {
	{SSL_AD_BAD_CERTIFICATE, "it refuses our client-cert.pem"},
	{SSL_AD_UNSUPPORTED_CERTIFICATE,
	 "it can do nothing with the kind of our client-cert.pem"},
	{SSL_AD_CERTIFICATE_REVOKED, "our client-cert.pem has been revoked"},
	{SSL_AD_CERTIFICATE_EXPIRED,
	 "our client-cert.pem has expired; make a new one"},
	{SSL_AD_CERTIFICATE_UNKNOWN, "it refuses our client-cert.pem"},
	{SSL_AD_UNKNOWN_CA,
	 "none of its authorities has signed our client-cert.pem"},
	{SSL_AD_ACCESS_DENIED, "our client-cert.pem is not welcome"},
	{SSL_AD_CERTIFICATE_REQUIRED,
	 "it wants a certificate; put client-cert.pem and client-key.pem into "
	 "the folder of tls-certificates="},
	{SSL_AD_HANDSHAKE_FAILURE,
	 "it wants a certificate or a key (tls-certificates=, tls-psk-file=), "
	 "or has no cipher in common with us"},
	{SSL_AD_PROTOCOL_VERSION, "its TLS is older than 1.2"},
	{SSL_AD_INSUFFICIENT_SECURITY, "it wants other ciphers"},
};

static bool about_alert(struct attach_secure *s, int alert)
{
	for (unsigned i = 0; i < ARRAY_SIZE(alerts); i++) {
		if (alerts[i].alert != alert)
			continue;
		snprintf(s->reason, sizeof(s->reason),
			 "the server refuses us: %s", alerts[i].text);
		return true;
	}
	return false;
}

/* --------------------------------------------------------------------- all */

static bool no_tls(int reason)
{
	return reason == SSL_R_WRONG_VERSION_NUMBER ||
	       reason == SSL_R_HTTP_REQUEST ||
	       reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
	       reason == SSL_R_UNEXPECTED_MESSAGE;
}

/* What fails with a wrong key looks different in each version, and in each
 * library. */
static void about_key(struct attach_secure *s, const char *user)
{
	char shown[130];

	log_escape(user, strlen(user), shown, sizeof(shown));
	snprintf(s->reason, sizeof(s->reason),
		 "the server has another key for user \"%s\", or none", shown);
}

int attach_secure_failed(struct attach_secure *s)
{
	unsigned long e = io_tls_first_error();
	int reason = ERR_GET_LIB(e) == ERR_LIB_SSL ? ERR_GET_REASON(e) : 0;
	const char *user = io_tls_client_user(s->peer->client);
	const char *words = e ? ERR_reason_error_string(e) : NULL;

	if (!words)
		words = "unknown";
	if (no_tls(reason)) {
		snprintf(s->reason, sizeof(s->reason),
			 "what the server sends is no TLS");
		return -EPROTO;
	}
	if (user) {
		about_key(s, user);
	} else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
		snprintf(s->reason, sizeof(s->reason),
			 "the server's certificate is refused %s", s->refused);
	} else if (reason < SSL_AD_REASON_OFFSET ||
		   !about_alert(s, reason - SSL_AD_REASON_OFFSET)) {
		snprintf(s->reason, sizeof(s->reason), "%s: %s",
			 reason < SSL_AD_REASON_OFFSET
				 ? "what the server sends is no good TLS"
				 : "the server refuses us",
			 words);
		return reason < SSL_AD_REASON_OFFSET ? -EPROTO : -EACCES;
	}
	return -EACCES;
}
