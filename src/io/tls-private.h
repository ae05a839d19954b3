/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of TLS: what its files need of each other. tls.c moves bytes, tls-bio.c
 * stands between OpenSSL and the socket, tls-reason.c puts failures into words;
 * tls-context.c makes contexts of what tls-files.c and tls-psk.c have read. */
#ifndef NBDRAM_IO_TLS_PRIVATE_H
#define NBDRAM_IO_TLS_PRIVATE_H

#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tls.h"

#define RECORD 16384u	 /* bytes of data that a record can have */
#define RECORD_MORE 256u /* and what stands around them, at most */

/* Bytes that are received by one system call, and OpenSSL's buffer as long as
 * something is in it. */
#define RECEIVE_MOST (4u * (RECORD + RECORD_MORE))

/* Records that are sent by one system call. What the socket has not taken then
 * is all that a slow client makes us keep. */
#define SEND_RECORDS 4u
#define SEND_MOST (SEND_RECORDS * (RECORD + RECORD_MORE))

/* So much may be unsent before a client that makes us answer, as by asking for
 * new keys, is no longer heard. */
#define UNSENT_MOST (64u << 10)

struct psk_keys;

struct io_tls {
	_Atomic unsigned refs;
	SSL_CTX *ctx;
	struct psk_keys *keys; /* NULL: none */
	uint8_t digest[32];    /* SHA-256 of all files */
};

struct tls_stream {
	SSL *ssl;
	struct io_tls *context;
	int fd;
	bool secured;	  /* the handshake is over */
	bool kernel;	  /* which makes the records that we send */
	bool key_fake;	  /* the client named a user that is not there */
	bool lingers;	  /* it has failed, and what comes is forgotten */
	bool ended;	  /* the client has said that it is through */
	bool wants_write; /* what OpenSSL has said, when it wants that */
	int error;	  /* negative: it is over */
	char *reason;	  /* and why, if there was memory for it */
	char *user;	  /* of keys.psk, that the client has named */
	char *refused;	  /* what was wrong with its certificate */

	bool dry;  /* this call: the socket has no more */
	bool full; /* reading has ended since the caller's memory was full */

	/* Records that the socket has not taken: ours to free, or within a call
	 * the thread's buffer. */
	uint8_t *out;
	size_t out_at, out_len;
	bool out_lent;
};

/* --------------------------------------------------------------- tls-bio.c */

/* A new BIO for both directions of t. NULL: no memory. */
BIO *tls_bio_new(struct tls_stream *t);

/* Send what is unsent. 0: all of it; -EAGAIN; else it is over. To be called after
 * everything that may have made OpenSSL write. */
int tls_bio_send(struct tls_stream *t);
void tls_bio_drop(struct tls_stream *t);

/* ------------------------------------------------------------ tls-reason.c */

/* Note that it is over, with the words for it; returns error. what: a fixed
 * text, or NULL: as OpenSSL's queue of errors says. */
int tls_failed(struct tls_stream *t, int error, const char *what);

/* OpenSSL's callback: what it thinks of a certificate. */
int tls_verified(int ok, X509_STORE_CTX *store);

/* -------------------------------------------------------------- tls-files.c */

struct tls_faults {
	io_tls_fault *tell;
	void *arg;
	const char *dir;
	const char *cert, *key; /* the files of our own certificate */
	bool server;		/* it must please who has our authority */
	bool failed;
	EVP_MD_CTX *digest; /* of what is read; NULL: nobody wants it */
};

/* file: in the folder; NULL: what the text says is enough. */
__attribute__((format(printf, 3, 4))) void tls_fault(struct tls_faults *f,
						     const char *file,
						     const char *format, ...);
__attribute__((format(printf, 3, 4))) void tls_warning(struct tls_faults *f,
						       const char *file,
						       const char *format, ...);

/* All of a file, with a 0 behind it; free it by tls_file_free(). NULL: it is not
 * there (no fault unless `needed`), or cannot be read (a fault). secret: others
 * must not be able to read it. */
char *tls_file_read(struct tls_faults *f, const char *file, bool needed,
		    bool secret, size_t *len);
void tls_file_free(char *text, size_t len);

/* Load what is there into ctx, with or without faults. *have: there is a
 * certificate of our own; an authority for those of the other side. */
struct tls_have {
	bool certificate, authority;
};
void tls_files_load(struct tls_faults *f, SSL_CTX *ctx, struct tls_have *have);

/* ---------------------------------------------------------------- tls-psk.c */

struct psk_key {
	const char *user; /* within the text of the file */
	unsigned line;
	uint8_t bytes[64];
	size_t len;
};

/* Of lines USER:HEX. NULL after a fault, or if there is no such file and it is
 * not needed. */
struct psk_keys *psk_load(struct tls_faults *f, const char *file, bool needed);
void psk_free(struct psk_keys *keys); /* NULL is fine */

/* A user's key; user NULL: the only one. NULL: there is none. */
const struct psk_key *psk_find(const struct psk_keys *keys, const char *user);

/* Have ctx, a server's, ask them. */
void psk_use(SSL_CTX *ctx);

#endif
