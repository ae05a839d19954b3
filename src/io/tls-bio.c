/* SPDX-License-Identifier: BSD-3-Clause */
/* Between OpenSSL and the socket.
 *
 * OpenSSL reads ahead once the handshake is over, so one receive brings several
 * records, right where they are decrypted. Records that are sent are put together
 * in a buffer of the thread and leave by one call, four at a time; a call for each
 * costs more than copying them (measured: a fifth of the processor time). What the
 * socket does not take is kept, and nothing more is made then. So a stream has
 * memory only while something is left in it.
 *
 * It is a filter in front of OpenSSL's own BIO for sockets, for the sake of
 * kernel TLS: when OpenSSL has the keys for sending it offers them to the kernel
 * by way of that one. If the kernel takes them, nothing goes through here any
 * more but alerts, and data is given to the socket as it is (tls.c). Keys for
 * receiving are kept from the kernel: OpenSSL 3.0 cannot do it with TLS 1.3 at
 * all. */
#include <errno.h>
#include <openssl/bio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tls-private.h"

/* OpenSSL 3 names these in a comment of bio.h only, since they are between its
 * own BIOs. BIO_ctrl(b, SET, for sending?, keys), (b, MESSAGE, type, NULL). */
#define CTRL_SET_KTLS 72
#define CTRL_KTLS_MESSAGE 74
#define TYPE_HANDSHAKE 22

static _Thread_local uint8_t to_send[SEND_MOST];

static int bio_read(BIO *b, char *buf, int n)
{
	struct tls_stream *t = BIO_get_data(b);
	ssize_t got;

	BIO_clear_retry_flags(b);
	if (t->dry) {
		BIO_set_retry_read(b);
		return -1;
	}
	do {
		got = recv(t->fd, buf, n, MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	/* Less than asked for: asking again would be in vain. */
	t->dry = got < n;
	if (got < 0 && (errno == EWOULDBLOCK || errno == EAGAIN))
		BIO_set_retry_read(b);
	else if (got < 0)
		tls_failed(t, -errno, strerror(errno));
	else if (got == 0)
		t->ended = true;
	return got;
}

/* ----------------------------------------------------------------- sending */

void tls_bio_drop(struct tls_stream *t)
{
	if (!t->out_lent)
		free(t->out);
	t->out = NULL;
	t->out_at = t->out_len = 0;
	t->out_lent = false;
}

/* What is left goes into memory of its own, with room for `more` behind it. */
static int keep(struct tls_stream *t, size_t more)
{
	size_t left = t->out_len - t->out_at;
	uint8_t *copy = malloc(left + more);

	if (!copy)
		return tls_failed(t, -ENOMEM, "no memory");
	if (left > 0)
		memcpy(copy, t->out + t->out_at, left);
	tls_bio_drop(t);
	t->out = copy;
	t->out_len = left;
	return 0;
}

int tls_bio_send(struct tls_stream *t)
{
	ssize_t put;

	while (t->out_at < t->out_len) {
		put = send(t->fd, t->out + t->out_at, t->out_len - t->out_at,
			   MSG_DONTWAIT | MSG_NOSIGNAL);
		if (put >= 0) {
			t->out_at += put;
		} else if (errno == EWOULDBLOCK || errno == EAGAIN) {
			/* The buffer is the thread's, for its next stream. */
			return t->out_lent && keep(t, 0) ? -ENOMEM : -EAGAIN;
		} else if (errno != EINTR) {
			tls_failed(t, -errno, strerror(errno));
			tls_bio_drop(t);
			return t->error;
		}
	}
	tls_bio_drop(t);
	return 0;
}

/* Behind what is there; the caller sees to it that this does not go on, and that
 * what is in the thread's buffer does not stay there. */
static int append(struct tls_stream *t, const void *buf, size_t n)
{
	if (!t->out) {
		t->out = to_send;
		t->out_lent = true;
	}
	if ((!t->out_lent || n > sizeof(to_send) - t->out_len) && keep(t, n))
		return -1;
	memcpy(t->out + t->out_len, buf, n);
	t->out_len += n;
	return n;
}

static int bio_write(BIO *b, const char *buf, int n)
{
	struct tls_stream *t = BIO_get_data(b);
	int put;

	BIO_clear_retry_flags(b);
	if (BIO_get_ktls_send(BIO_next(b))) {
		put = BIO_write(BIO_next(b), buf, n);
		BIO_copy_next_retry(b);
		return put;
	}
	return append(t, buf, n);
}

/* ------------------------------------------------------------------- the BIO */

static long bio_ctrl(BIO *b, int what, long number, void *pointer)
{
	struct tls_stream *t = BIO_get_data(b);

	switch (what) {
	case BIO_CTRL_FLUSH:
		/* Asked before the kernel is given the keys: all that was made
		 * with others must have gone. Else it can wait. */
		return t->error ? 0 : 1;
	case CTRL_SET_KTLS:
		if (!number || tls_bio_send(t))
			return 0;
		break;
	case CTRL_KTLS_MESSAGE:
		/* The kernel goes on with the keys that it has. */
		if (t->secured && number == TYPE_HANDSHAKE) {
			tls_failed(t, -EPROTO,
				   "it asks for other keys, which the kernel's "
				   "TLS cannot do");
			return 0;
		}
		break;
	case BIO_CTRL_PENDING:
		return 0;
	case BIO_CTRL_WPENDING:
		return t->out_len - t->out_at;
	case BIO_CTRL_EOF:
		/* Else OpenSSL would take an end without a word for an attack,
		 * and let nothing be sent any more. */
	case BIO_CTRL_DUP:
		return 0;
	}
	return BIO_ctrl(BIO_next(b), what, number, pointer);
}

static int bio_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

/* One for the process; OpenSSL wants it to be made. */
static BIO_METHOD *method;
static CRYPTO_ONCE method_once = CRYPTO_ONCE_STATIC_INIT;

static void free_method(void)
{
	BIO_meth_free(method);
}

static void make_method(void)
{
	int type = BIO_get_new_index() | BIO_TYPE_FILTER;

	method = BIO_meth_new(type, "nbdram");
	if (!method)
		return;
	BIO_meth_set_read(method, bio_read);
	BIO_meth_set_write(method, bio_write);
	BIO_meth_set_ctrl(method, bio_ctrl);
	BIO_meth_set_create(method, bio_create);
	OPENSSL_atexit(free_method);
}

BIO *tls_bio_new(struct tls_stream *t)
{
	BIO *b, *socket;

	CRYPTO_THREAD_run_once(&method_once, make_method);
	if (!method)
		return NULL;
	b = BIO_new(method);
	socket = BIO_new_socket(t->fd, BIO_NOCLOSE);
	if (!b || !socket) {
		BIO_free(b);
		BIO_free(socket);
		return NULL;
	}
	BIO_set_data(b, t);
	return BIO_push(b, socket);
}
