/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS 1.2 and 1.3 for the server's side of a stream, by certificates and by
 * pre-shared keys. */
#ifndef NBDRAM_IO_TLS_H
#define NBDRAM_IO_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "io.h"

/* --------------------------------------------------------------- contexts
 * What was loaded from a folder. It never changes, and is counted: streams that
 * run keep theirs while another is loaded for new ones. Any thread. */

struct io_tls;

struct io_tls_config {
	/* server-cert.pem (others of its chain behind it) with server-key.pem,
	 * or keys.psk, or both; ca-cert.pem for clients' certificates;
	 * ca-crl.pem if there is one. */
	const char *dir;
	/* OpenSSL's names with colons between, most wanted first; those that
	 * begin with TLS_ are for TLS 1.3. NULL: what is fastest here. */
	const char *ciphers;
	/* A client must show a certificate (or know a key of keys.psk). Else it
	 * may; one that it shows must be good in any case. */
	bool verify;
};

/* Told of each fault: one line, without a newline. A warning does not make
 * loading fail. */
typedef void io_tls_fault(void *arg, bool warning, const char *text);

/* -EINVAL after one or more faults that are no warnings; -ENOMEM. Else the
 * caller has one count of *tls. */
int io_tls_load(const struct io_tls_config *config, struct io_tls **tls,
		io_tls_fault *fault, void *arg);
struct io_tls *io_tls_get(struct io_tls *tls);
void io_tls_put(struct io_tls *tls); /* NULL is fine */

/* Whether both were made of files with the same contents. */
bool io_tls_same(const struct io_tls *a, const struct io_tls *b);

/* ---------------------------------------------------------------- streams */

/* From now on the stream is inside of TLS; nothing of its own may be unsent, and
 * nothing that the client sent behind may have been read. Takes a count of its
 * own. Then call io_tls_handshake() whenever the socket is ready for what
 * io_tls_wants() says. -ENOMEM: the stream is as it was. */
int io_tls_start(struct io *io, struct io_tls *tls);

/* 0: it is secured, read and write as ever; -EAGAIN: wait until there is
 * something to be read (or sent, if io_unsent()); else it has failed,
 * io_reason() says why. */
int io_tls_handshake(struct io *io);

/* After a handshake that has failed by anything but the client's going: nothing
 * more is sent, and what comes is read and forgotten, so that the client can read
 * the alert that says why; a socket that is closed with something unread resets
 * the connection, and what was sent may be lost. -EAGAIN: call again when there is
 * something to be read; 0: it may be closed. */
int io_tls_linger(struct io *io);

/* Why the stream has failed, in words fit for a log; foreign text in it is
 * escaped. Valid until it is closed. */
const char *io_reason(const struct io *io);

/* The names that the client has shown to be its own. */
enum io_name {
	IO_NAME_COMMON, /* CN of its certificate */
	IO_NAME_DNS,	/* subjectAltName */
	IO_NAME_URI,
	IO_NAME_PSK, /* the user of its key */
};

/* Call each() for all of them, the most telling one first; it returns 0 to go
 * on. Each is a string, lent for the call, of any bytes (but 0). None for a
 * client without a certificate. Returns what each() did last, or -ENOMEM. */
int io_tls_names(const struct io *io,
		 int (*each)(void *arg, enum io_name kind, const char *name),
		 void *arg);

/* "TLSv1.3" and "TLS_AES_128_GCM_SHA256"; valid while the stream is. */
const char *io_tls_version(const struct io *io);
const char *io_tls_cipher(const struct io *io);

/* Whether the kernel makes the records that are sent. */
bool io_tls_kernel(const struct io *io);

#endif
