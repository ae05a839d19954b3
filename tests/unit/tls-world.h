/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of TLS share: a folder with certificates of all kinds, and a client
 * by OpenSSL at the other end of a socket pair, both ends moved by one thread. */
#ifndef NBDRAM_TESTS_TLS_WORLD_H
#define NBDRAM_TESTS_TLS_WORLD_H

#include <openssl/ssl.h>

#include "tls-make.h"
#include "tls.h"

struct world {
	char dir[64]; /* ca-cert.pem, server-cert.pem, server-key.pem */
	struct tls_identity *authority, *server, *client;
	char said[4096]; /* faults and warnings of the last loading */
	unsigned faults, warnings;
};

void world_begin(struct world *w);
void world_end(struct world *w);

/* A file of it: text NULL: remove it. */
void world_put(const struct world *w, const char *file, const char *text,
	       int mode);

/* The same with a certificate and its key. */
void world_put_server(const struct world *w, const struct tls_identity *server);

/* A certificate for `name`, by issuer (NULL: by itself), good for `days`. */
struct tls_identity *world_make(enum tls_use use, const char *name,
				const struct tls_identity *issuer, int days,
				int rsa);

/* Load the folder; NULL: faults, which are in said. */
struct io_tls *world_load(struct world *w, const char *ciphers, bool verify);

/* The same, which must fail with just one fault that contains `text`. */
void world_fault(struct world *w, bool verify, const char *text);

struct client {
	const struct tls_identity *shows;  /* NULL: no certificate */
	const struct tls_identity *trusts; /* NULL: anybody */
	const char *user, *key;		   /* of a pre-shared key; hex */
	int version;			   /* TLS1_2_VERSION...; 0: any */
	const char *ciphers, *ciphersuites;
};

struct pair {
	struct io io;
	SSL_CTX *ctx;
	SSL *ssl;
	int fd;	      /* the client's end */
	int server;   /* what the server's handshake said last */
	bool refused; /* the client has failed */
};

/* Both ends as far as they get; io is secured if 0 is returned. What the client
 * makes of it shows in refused, or only when it reads. */
int pair_begin(struct pair *p, struct io_tls *tls, const struct client *c);
void pair_end(struct pair *p);

/* Only the sockets; the server's end has begun TLS, the client's has not. */
void pair_sockets(struct pair *p, struct io_tls *tls);

/* All that the client can read now, at most `most` bytes; 0 is added. Returns how
 * many; -1: it is over. */
int client_read(struct pair *p, void *buf, int most);
void client_write(struct pair *p, const void *buf, int len);

#endif
