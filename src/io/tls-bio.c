/* SPDX-License-Identifier: BSD-3-Clause */
/* Between OpenSSL and the socket: records are received and sent many at a time.
 *
 * OpenSSL asks for a record's five bytes, then for the rest of it, and gives one
 * record at a time; each would be a system call. So a thread has one buffer for
 * what was received and one for what is to be sent, and a stream has memory of
 * its own only while something is left in them between two calls.
 *
 * It is a filter in front of OpenSSL's own BIO for sockets, for the sake of
 * kernel TLS: when OpenSSL has the keys for sending it offers them to the kernel
 * by way of that one. If the kernel takes them, nothing goes through here any
 * more but alerts, and data is given to the socket as it is (tls.c). Keys for
 * receiving are kept from the kernel: what was received already could not be
 * given to it, and OpenSSL 3.0 cannot do it with TLS 1.3 at all. */
#include <errno.h>
#include <openssl/bio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"
#include "tls-private.h"

/* OpenSSL 3 names these in a comment of bio.h only, since they are between its
 * own BIOs. BIO_ctrl(b, SET, for sending?, keys), (b, MESSAGE, type, NULL). */
#define CTRL_SET_KTLS 72
#define CTRL_KTLS_MESSAGE 74
#define TYPE_HANDSHAKE 22

static _Thread_local uint8_t received[RECEIVE_MOST];
static _Thread_local uint8_t to_send[SEND_MOST];

/* --------------------------------------------------------------- receiving */

static void drop_in(struct tls_stream *t)
{
	if (!t->in_lent)
		free(t->in);
	t->in = NULL;
	t->in_at = t->in_len = 0;
	t->in_lent = false;
}

/* No more than the caller can use, and a record: what is left over has to be
 * kept. 1: there is something; 0: the end; else negative. */
static int receive(struct tls_stream *t)
{
	size_t want = t->want + t->want / 64 + RECORD + RECORD_MORE;
	ssize_t got;

	drop_in(t);
	if (t->dry)
		return -EAGAIN;
	want = min_u64(want, sizeof(received));
	do {
		got = recv(t->fd, received, want, MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	t->dry = got < (ssize_t)want;
	if (got < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (got == 0)
		return 0;
	t->in = received;
	t->in_len = got;
	t->in_lent = true;
	return 1;
}

static int bio_read(BIO *b, char *buf, int n)
{
	struct tls_stream *t = BIO_get_data(b);
	int got;

	BIO_clear_retry_flags(b);
	if (t->in_at == t->in_len) {
		got = receive(t);
		if (got == -EAGAIN)
			BIO_set_retry_read(b);
		else if (got < 0 && !t->error)
			tls_failed(t, got, strerror(-got));
		else if (got == 0)
			t->ended = true;
		if (got <= 0)
			return got < 0 ? -1 : 0;
	}
	n = min_u64(n, t->in_len - t->in_at);
	memcpy(buf, t->in + t->in_at, n);
	t->in_at += n;
	return n;
}

/* ----------------------------------------------------------------- sending */

static void drop_out(struct tls_stream *t)
{
	if (!t->out_lent)
		free(t->out);
	t->out = NULL;
	t->out_at = t->out_len = 0;
	t->out_lent = false;
}

int tls_bio_send(struct tls_stream *t)
{
	ssize_t put;

	while (t->out_at < t->out_len) {
		put = send(t->fd, t->out + t->out_at, t->out_len - t->out_at,
			   MSG_DONTWAIT | MSG_NOSIGNAL);
		if (put >= 0)
			t->out_at += put;
		else if (errno == EWOULDBLOCK || errno == EAGAIN)
			return -EAGAIN;
		else if (errno != EINTR)
			return tls_failed(t, -errno, strerror(errno));
	}
	drop_out(t);
	return 0;
}

/* What is left goes into memory of its own, with room for `more` behind it. */
static int keep_out(struct tls_stream *t, size_t more)
{
	size_t left = t->out_len - t->out_at;
	uint8_t *copy = malloc(left + more);

	if (!copy)
		return tls_failed(t, -ENOMEM, "no memory");
	if (left > 0)
		memcpy(copy, t->out + t->out_at, left);
	drop_out(t);
	t->out = copy;
	t->out_len = left;
	return 0;
}

/* Behind what is there; the caller sees to it that this does not go on. */
static int append(struct tls_stream *t, const void *buf, size_t n)
{
	if (!t->out) {
		t->out = to_send;
		t->out_lent = true;
	}
	if (!t->out_lent || n > sizeof(to_send) - t->out_len) {
		if (keep_out(t, n))
			return -1;
	}
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
		return t->in_len - t->in_at;
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

/* ------------------------------------------------------------ around a call */

void tls_bio_begin(struct tls_stream *t, size_t want)
{
	t->dry = false;
	t->want = want;
}

int tls_bio_end(struct tls_stream *t)
{
	size_t left = t->in_len - t->in_at;
	uint8_t *copy = NULL;
	int error;

	if (left == 0) {
		drop_in(t);
	} else if (t->in_lent) {
		copy = malloc(left);
		if (copy)
			memcpy(copy, t->in + t->in_at, left);
		drop_in(t);
		t->in = copy;
		t->in_len = copy ? left : 0;
		if (!copy)
			tls_failed(t, -ENOMEM, "no memory");
	}
	error = tls_bio_send(t);
	if (error == -EAGAIN && t->out_lent)
		return keep_out(t, 0) ? -ENOMEM : -EAGAIN;
	if (error && t->out_lent)
		drop_out(t);
	return error;
}

void tls_bio_drop(struct tls_stream *t)
{
	drop_in(t);
	drop_out(t);
}
