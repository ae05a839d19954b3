/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's end of TLS on a socket, and what is needed to hand it over in the
 * middle: how many records went each way, and the secrets behind their keys. */
#ifndef NBDRAM_ATTACH_SECURE_H
#define NBDRAM_ATTACH_SECURE_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tls-client.h"
#include "wait.h"

#define SECRET_MOST 64u /* of any hash */

/* Who the server has to be, and what we show it; the texts outlive the stream. */
struct attach_peer {
	struct io_tls_client *client;
	/* In the server's certificate: a name, or an address as text. NULL: any
	 * certificate that our authority has signed. */
	const char *host;
	bool trusted; /* by a folder of certificates, not by what this host has */
};

struct attach_secure {
	SSL *ssl;
	int fd;
	const struct attach_peer *peer;
	bool ended; /* the server has closed the socket */
	int error;  /* negative errno of the socket */
	bool done; /* the handshake is over, and both sides use the last keys */
	bool rekeyed;		 /* ... or no longer */
	uint64_t sent, received; /* records since then */
	size_t secret_len;	 /* TLS 1.3 */
	uint8_t client_secret[SECRET_MOST], server_secret[SECRET_MOST];
	char refused[200]; /* what was wrong with the server's certificate */
	char reason[300];  /* one line; "": the connection has gone */
};

/* TLS on a non-blocking socket, which stays the caller's, as is *peer, which outlives
 * it. NULL: no memory. */
struct attach_secure *attach_secure_new(int fd, const struct attach_peer *peer);

/* 0: both are secured. Else reason says why, unless it is "": -EACCES (a certificate
 * or key is refused, by either side), -EPROTO (what comes is no TLS), errors of the
 * socket and of attach_wait_for(). */
int attach_secure_handshake(struct attach_secure *s,
			    const struct attach_wait *wait);

/* Bytes moved, or a negative errno as above; -EAGAIN: wait for what
 * attach_secure_wants() says, then call again with the same. */
ssize_t attach_secure_read(struct attach_secure *s, void *buf, size_t len);
ssize_t attach_secure_write(struct attach_secure *s, const void *buf,
			    size_t len);
short attach_secure_wants(const struct attach_secure *s); /* POLLIN, POLLOUT */

/* Nothing of what has come is left in it unread. */
bool attach_secure_empty(const struct attach_secure *s);

/* "TLSv1.3 TLS_AES_128_GCM_SHA256 (how)". */
void attach_secure_text(const struct attach_secure *s, const char *how,
			char *buf, size_t size);

/* Forget it; with a farewell to the server only if polite. NULL is fine. */
void attach_secure_free(struct attach_secure *s, bool polite);

/* ------------------------------------------- secure-words.c: for secure.c */

/* OpenSSL's callback for what it thinks of a certificate. */
int attach_secure_verified(int ok, X509_STORE_CTX *store);

/* It has failed and OpenSSL's queue of errors says why: fill in reason. Returns
 * -EACCES or -EPROTO. */
int attach_secure_failed(struct attach_secure *s);

#endif
