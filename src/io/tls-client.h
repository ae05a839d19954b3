/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client of TLS 1.2 and 1.3 needs once for many connections: certificates
 * or a pre-shared key, from the files that other NBD clients have too. */
#ifndef NBDRAM_IO_TLS_CLIENT_H
#define NBDRAM_IO_TLS_CLIENT_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "tls.h"

struct io_tls_client;

struct io_tls_client_config {
	/* ca-cert.pem (ca-crl.pem if there is one), to judge servers by; our own
	 * client-cert.pem and client-key.pem if a server wants to see one. NULL:
	 * the authorities that this host trusts, and nothing of our own. */
	const char *dir;
	/* Lines USER:HEX. Not NULL: the server must know that user's key, and dir
	 * is not looked at. */
	const char *psk_file;
	const char *user; /* NULL: the only one in the file */
	bool verify;	  /* the server's certificate */
};

/* -EINVAL after one or more faults that are no warnings; -ENOMEM. Else *client is
 * the caller's, and no file is looked at any more. */
int io_tls_client_load(const struct io_tls_client_config *config,
		       struct io_tls_client **client, io_tls_fault *fault,
		       void *arg);
void io_tls_client_free(struct io_tls_client *client); /* NULL is fine */

/* For SSL_new(). It reads no further ahead than one record, has no tickets and no
 * session of its own to resume. Lives as long as the client. */
SSL_CTX *io_tls_client_context(const struct io_tls_client *client);

/* What OpenSSL says of the last failure of this thread, and nothing any more: the first
 * error of its upper half, for what follows are its consequences, and what stands in
 * front may be of a library below. 0: it says nothing. */
unsigned long io_tls_first_error(void);

/* The user whose key is to be used; NULL: there are certificates instead. */
const char *io_tls_client_user(const struct io_tls_client *client);

#endif
