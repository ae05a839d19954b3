/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams inside of TLS. See tls.h; tls-bio.c for how records travel. */
#include "tls-private.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

/* What OpenSSL has to say after it did not succeed. */
static int outcome(struct tls_stream *t, int result)
{
	if (t->error)
		return t->error;
	switch (SSL_get_error(t->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		t->ended = true;
		return 0;
	case SSL_ERROR_WANT_WRITE:
		/* Only what goes by way of the kernel's TLS can have to. */
		t->wants_write = true;
		return -EAGAIN;
	default:
		break;
	}
	/* It has gone without a word, or in the middle of a record: as on a
	 * plain connection. The protocol above has a word for the end. */
	if (t->ended && t->secured)
		return 0;
	if (t->ended)
		return tls_failed(t, -ECONNRESET, "it has gone");
	return tls_failed(t, -EPROTO, NULL);
}

/* ----------------------------------------------------------------- reading */

/* Fill one piece. How much came; *error: why it is not all. */
static size_t read_piece(struct tls_stream *t, uint8_t *buf, size_t len,
			 int *error)
{
	size_t done = 0, got;
	int result;

	*error = 0;
	while (done < len) {
		result = SSL_read_ex(t->ssl, buf + done, len - done, &got);
		if (result <= 0) {
			*error = outcome(t, result);
			if (*error == 0)
				t->ended = true;
			break;
		}
		done += got;
	}
	return done;
}

static ssize_t tls_readv(struct io *io, const struct iovec *iov, int n)
{
	struct tls_stream *t = io->tls;
	size_t done = 0, got;
	int i, error = 0;

	if (t->error)
		return t->error;
	/* Whoever makes us answer, as by asking for new keys, has to take the
	 * answers before he is heard again. */
	if (t->out_len - t->out_at >= UNSENT_MOST && tls_bio_send(t))
		return t->error ? t->error : -EAGAIN;
	ERR_clear_error();
	t->dry = false;
	for (i = 0; i < n; i++) {
		got = read_piece(t, iov[i].iov_base, iov[i].iov_len, &error);
		done += got;
		if (got < iov[i].iov_len)
			break;
	}
	t->full = i == n;
	/* It may have had to answer. */
	if (t->out_lent)
		tls_bio_send(t);
	if (done > 0)
		return done;
	if (t->error)
		return t->error;
	return t->ended ? 0 : -EAGAIN;
}

/* Part of a record is nothing to be read. An error that was found behind data is
 * still to be told. */
static size_t tls_pending(const struct io *io)
{
	const struct tls_stream *t = io->tls;

	return (t->full && SSL_has_pending(t->ssl)) || t->error || t->ended;
}

/* ----------------------------------------------------------------- writing */

/* Where in a caller's pieces we are. */
struct place {
	const struct iovec *iov;
	int n;
	size_t skip; /* bytes of *iov that are done */
};

static void pass(struct place *at, size_t len)
{
	while (at->n > 0 && len >= at->iov->iov_len - at->skip) {
		len -= at->iov->iov_len - at->skip;
		at->skip = 0;
		at->iov++;
		at->n--;
	}
	at->skip += len;
}

/* The data of the next record: where it lies, if that is in one place, else
 * gathered at `room`. */
static const uint8_t *next_record(struct place *at, uint8_t *room, size_t *len)
{
	const uint8_t *there;
	size_t part, have = 0;

	there = (const uint8_t *)at->iov->iov_base + at->skip;
	part = at->iov->iov_len - at->skip;
	if (part >= RECORD || at->n == 1) {
		*len = min_u64(part, RECORD);
		pass(at, *len);
		return there;
	}
	while (at->n > 0 && have < RECORD) {
		there = (const uint8_t *)at->iov->iov_base + at->skip;
		part = min_u64(at->iov->iov_len - at->skip, RECORD - have);
		memcpy(room + have, there, part);
		have += part;
		pass(at, part);
	}
	*len = have;
	return room;
}

static ssize_t kernel_writev(struct tls_stream *t, const struct iovec *iov,
			     int n)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n};
	ssize_t put;

	do {
		put = sendmsg(t->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (put < 0 && errno == EINTR);
	if (put < 0 && errno != EWOULDBLOCK)
		return tls_failed(t, -errno, strerror(errno));
	return put < 0 ? -EAGAIN : put;
}

static ssize_t tls_writev(struct io *io, const struct iovec *iov, int n)
{
	struct tls_stream *t = io->tls;
	static _Thread_local uint8_t room[RECORD];
	struct place at = {.iov = iov, .n = n};
	size_t done = 0, len, put;
	const uint8_t *data;
	unsigned made = 0;
	int error;

	if (t->error)
		return t->error;
	if (t->kernel)
		return kernel_writev(t, iov, n);
	error = tls_bio_send(t);
	ERR_clear_error();
	while (!error && at.n > 0) {
		data = next_record(&at, room, &len);
		if (len == 0)
			break;
		/* It all fits into the buffer, so it is all or nothing. */
		if (SSL_write_ex(t->ssl, data, len, &put) <= 0) {
			error = tls_failed(t, -EPROTO, NULL);
			tls_bio_drop(t);
			break;
		}
		done += put;
		if (++made % SEND_RECORDS == 0)
			error = tls_bio_send(t);
	}
	if (!error)
		error = tls_bio_send(t);
	/* What is taken is taken, though some of it has to wait here. */
	return done > 0 ? (ssize_t)done : error;
}

static int tls_flush(struct io *io)
{
	struct tls_stream *t = io->tls;

	return t->error ? t->error : tls_bio_send(t);
}

static size_t tls_unsent(const struct io *io)
{
	const struct tls_stream *t = io->tls;

	return t->error ? 0 : t->out_len - t->out_at + t->wants_write;
}

/* ------------------------------------------------------------- begin, end */

static void stream_free(struct tls_stream *t)
{
	SSL_free(t->ssl);
	tls_bio_drop(t);
	io_tls_put(t->context);
	free(t->reason);
	free(t->user);
	free(t->refused);
	free(t);
}

static void tls_close(struct io *io)
{
	struct tls_stream *t = io->tls;

	if (io->fd >= 0) {
		/* The word for the end, unless something is in front of it that
		 * cannot be sent. */
		if (!t->error && t->secured && tls_unsent(io) == 0) {
			ERR_clear_error();
			SSL_shutdown(t->ssl);
			tls_bio_send(t);
			ERR_clear_error();
		}
		close(io->fd);
	}
	io->fd = -1;
	stream_free(t);
	io->tls = NULL;
}

/* After io_close() nothing may be called but that again. */
static void closed_close(struct io *io)
{
	(void)io;
}

static const struct io_ops closed_ops = {.close = closed_close};

static void tls_close_once(struct io *io)
{
	tls_close(io);
	io->ops = &closed_ops;
}

static const struct io_ops tls_ops = {
	.readv = tls_readv,
	.writev = tls_writev,
	.pending = tls_pending,
	.flush = tls_flush,
	.unsent = tls_unsent,
	.close = tls_close_once,
};

int io_tls_start(struct io *io, struct io_tls *tls)
{
	struct tls_stream *t = calloc(1, sizeof(*t));
	BIO *bio;

	if (!t)
		return -ENOMEM;
	t->context = io_tls_get(tls);
	t->fd = io->fd;
	t->ssl = SSL_new(tls->ctx);
	bio = t->ssl ? tls_bio_new(t) : NULL;
	if (!bio) {
		ERR_clear_error();
		stream_free(t);
		return -ENOMEM;
	}
	SSL_set_app_data(t->ssl, t);
	SSL_set_bio(t->ssl, bio, bio);
	SSL_set_accept_state(t->ssl);
	io->tls = t;
	io->ops = &tls_ops;
	return 0;
}

/* Did the client's key count, and not only come up? */
static bool by_key(const struct tls_stream *t)
{
	const SSL_CIPHER *cipher = SSL_get_current_cipher(t->ssl);

	if (!t->user || t->key_fake || !cipher)
		return false;
	if (SSL_version(t->ssl) >= TLS1_3_VERSION)
		return SSL_session_reused(t->ssl);
	return SSL_CIPHER_get_auth_nid(cipher) == NID_auth_psk;
}

int io_tls_handshake(struct io *io)
{
	struct tls_stream *t = io->tls;
	int result, error;

	if (t->error)
		return t->error;
	if (t->secured)
		return 0;
	t->wants_write = false;
	ERR_clear_error();
	t->dry = false;
	result = SSL_do_handshake(t->ssl);
	error = result == 1 ? 0 : outcome(t, result);
	/* An alert too has to leave. */
	tls_bio_send(t);
	if (error || t->error)
		return t->error ? t->error : error;
	t->secured = true;
	/* Not before: who never finishes is to hold as little as possible. */
	SSL_set_read_ahead(t->ssl, 1);
	SSL_set_default_read_buffer_len(t->ssl, RECEIVE_MOST);
	t->kernel = BIO_get_ktls_send(SSL_get_wbio(t->ssl));
	if (!by_key(t)) {
		free(t->user);
		t->user = NULL;
	}
	return 0;
}

/* What is forgotten in one call, so that others have their turn. */
#define LINGER_MOST 16u

int io_tls_linger(struct io *io)
{
	struct tls_stream *t = io->tls;
	char room[4096];
	unsigned i;
	ssize_t got;

	if (!t->lingers && (t->ended || shutdown(io->fd, SHUT_WR) < 0))
		return 0;
	t->lingers = true;
	for (i = 0; i < LINGER_MOST; i++) {
		got = recv(io->fd, room, sizeof(room), MSG_DONTWAIT);
		if (got == 0)
			return 0;
		if (got < 0)
			return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN
								      : 0;
	}
	return -EAGAIN;
}

/* -------------------------------------------------------------- who it is */

/* A string of a certificate; one with a 0 in it is a forgery. */
static int tell(const ASN1_STRING *text, enum io_name kind,
		int (*each)(void *, enum io_name, const char *), void *arg)
{
	unsigned char *utf8 = NULL;
	int len = ASN1_STRING_to_UTF8(&utf8, text), result = 0;

	if (len > 0 && strlen((char *)utf8) == (size_t)len)
		result = each(arg, kind, (char *)utf8);
	OPENSSL_free(utf8);
	ERR_clear_error();
	return result;
}

static int tell_common_names(X509 *cert,
			     int (*each)(void *, enum io_name, const char *),
			     void *arg)
{
	const X509_NAME *subject = X509_get_subject_name(cert);
	int at = -1, result = 0;

	while (!result &&
	       (at = X509_NAME_get_index_by_NID((X509_NAME *)subject,
						NID_commonName, at)) >= 0)
		result = tell(X509_NAME_ENTRY_get_data(
				      X509_NAME_get_entry(subject, at)),
			      IO_NAME_COMMON, each, arg);
	return result;
}

static int tell_alternatives(X509 *cert,
			     int (*each)(void *, enum io_name, const char *),
			     void *arg)
{
	GENERAL_NAMES *names =
		X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	const GENERAL_NAME *name;
	int i, result = 0;

	for (i = 0; !result && i < sk_GENERAL_NAME_num(names); i++) {
		name = sk_GENERAL_NAME_value(names, i);
		if (name->type == GEN_DNS)
			result = tell(name->d.dNSName, IO_NAME_DNS, each, arg);
		else if (name->type == GEN_URI)
			result = tell(name->d.uniformResourceIdentifier,
				      IO_NAME_URI, each, arg);
	}
	GENERAL_NAMES_free(names);
	ERR_clear_error();
	return result;
}

int io_tls_names(const struct io *io,
		 int (*each)(void *arg, enum io_name kind, const char *name),
		 void *arg)
{
	const struct tls_stream *t = io->tls;
	X509 *cert;
	int result;

	if (!t || !t->secured)
		return 0;
	if (t->user)
		return each(arg, IO_NAME_PSK, t->user);
	cert = SSL_get1_peer_certificate(t->ssl);
	if (!cert || SSL_get_verify_result(t->ssl) != X509_V_OK) {
		X509_free(cert);
		return 0;
	}
	result = tell_common_names(cert, each, arg);
	if (!result)
		result = tell_alternatives(cert, each, arg);
	X509_free(cert);
	return result;
}

const char *io_tls_version(const struct io *io)
{
	return io->tls ? SSL_get_version(io->tls->ssl) : "";
}

const char *io_tls_cipher(const struct io *io)
{
	return io->tls ? SSL_get_cipher_name(io->tls->ssl) : "";
}

bool io_tls_kernel(const struct io *io)
{
	return io->tls && io->tls->kernel;
}
