/* SPDX-License-Identifier: BSD-3-Clause */
/* Making certificates and keys: an authority of one's own, and what it signs. */
#ifndef NBDRAM_IO_TLS_MAKE_H
#define NBDRAM_IO_TLS_MAKE_H

#include <stdbool.h>
#include <stddef.h>

/* A private key and its certificate. */
struct tls_identity;

enum tls_use {
	TLS_AUTHORITY, /* to sign others */
	TLS_SERVER,
	TLS_CLIENT,
};

struct tls_wish {
	enum tls_use use;
	const char *common_name; /* 1 to 64 bytes */
	/* subjectAltName: addresses of a host are put there as such, a text with
	 * :// in it as an URI, all else as a DNS name. */
	const char *const *names;
	unsigned name_count;
	int begins; /* days from now */
	int days;   /* that it is good for, from now; may be negative */
	int rsa;    /* bits; 0: EC on P-256 */
};

/* issuer: signs it; NULL: it signs itself. -EINVAL: a name that cannot be in a
 * certificate; -ENOMEM. Free it by tls_identity_free(). */
int tls_identity_make(const struct tls_wish *wish,
		      const struct tls_identity *issuer,
		      struct tls_identity **identity);
void tls_identity_free(struct tls_identity *identity); /* NULL is fine */

/* From PEM text. -EINVAL: not of that kind, or they do not belong together. */
int tls_identity_read(const char *cert, const char *key,
		      struct tls_identity **identity);

/* As PEM text, to be freed; NULL: no memory. The key is not encrypted. */
char *tls_identity_cert(const struct tls_identity *identity);
char *tls_identity_key(const struct tls_identity *identity);

/* A list of those that issuer has taken back, as PEM text; days as above. */
char *tls_revoke(const struct tls_identity *issuer,
		 const struct tls_identity *const *taken, unsigned count,
		 int days);

/* A new pre-shared key: len random bytes as hexadecimal digits, in 2 * len + 1
 * bytes of text. -EIO: there is no randomness. */
int tls_key_make(char *text, size_t len);

#endif
