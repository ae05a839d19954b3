/* SPDX-License-Identifier: BSD-3-Clause */
/* See secure.h. OpenSSL reaches the socket by a BIO of ours, which raises no
 * SIGPIPE and keeps the errno. It reads one record at a time and no byte beyond
 * (read_ahead is off), so that the socket may change hands between two. */
#include "secure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "parse.h"

/* --------------------------------------------------------------------- BIO */

static BIO_METHOD *method;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What recv() or send() has said. */
static int moved(BIO *b, struct attach_secure *s, ssize_t n, bool reading)
{
	if (n >= 0)
		return (int)n;
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		s->error = errno == EPIPE ? -ECONNRESET : -errno;
	else if (reading)
		BIO_set_retry_read(b);
	else
		BIO_set_retry_write(b);
	return -1;
}

static int bio_read(BIO *b, char *buf, int len)
{
	struct attach_secure *s = BIO_get_data(b);
	ssize_t n;

	BIO_clear_retry_flags(b);
	do {
		n = recv(s->fd, buf, len, 0);
	} while (n < 0 && errno == EINTR);
	s->ended = s->ended || n == 0;
	return moved(b, s, n, true);
}

static int bio_write(BIO *b, const char *buf, int len)
{
	struct attach_secure *s = BIO_get_data(b);
	ssize_t n;

	BIO_clear_retry_flags(b);
	do {
		n = send(s->fd, buf, len, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return moved(b, s, n, false);
}

static long bio_ctrl(BIO *b, int command, long number, void *pointer)
{
	const struct attach_secure *s = BIO_get_data(b);

	(void)number;
	(void)pointer;
	if (command == BIO_CTRL_EOF)
		return s->ended;
	return command == BIO_CTRL_FLUSH;
}

static void make_method(void)
{
	method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "nbdram");
	if (method && BIO_meth_set_read(method, bio_read) == 1 &&
	    BIO_meth_set_write(method, bio_write) == 1 &&
	    BIO_meth_set_ctrl(method, bio_ctrl) == 1)
		return;
	BIO_meth_free(method);
	method = NULL;
}

static bool add_bio(struct attach_secure *s)
{
	BIO *b;

	pthread_once(&once, make_method);
	b = method ? BIO_new(method) : NULL;
	if (!b)
		return false;
	BIO_set_data(b, s);
	BIO_set_init(b, 1);
	SSL_set_bio(s->ssl, b, b);
	return true;
}

/* ------------------------------------------------- records, secrets, keys */

/* Told of every record and message. */
static void heard(int sending, int version, int type, const void *buf,
		  size_t len, SSL *ssl, void *arg)
{
	struct attach_secure *s = arg;
	const uint8_t *message = buf;

	(void)version;
	(void)ssl;
	if (!s->done)
		return;
	if (type == SSL3_RT_HEADER && sending)
		s->sent++;
	else if (type == SSL3_RT_HEADER)
		s->received++;
	else if (type == SSL3_RT_HANDSHAKE && len > 0 &&
		 message[0] == SSL3_MT_KEY_UPDATE)
		s->rekeyed = true;
}

/* What stands behind `label RANDOM `, in hexadecimal, into secret. */
static void keep(struct attach_secure *s, const char *line, const char *label,
		 uint8_t *secret)
{
	size_t len = strlen(label), n;
	const char *hex;

	if (strncmp(line, label, len) != 0 || line[len] != ' ')
		return;
	hex = strchr(line + len + 1, ' ');
	if (!hex || strlen(hex + 1) / 2 > SECRET_MOST)
		return;
	hex++;
	for (n = 0; hex[2 * n] && hex[2 * n + 1]; n++)
		secret[n] = (uint8_t)(parse_hex_digit(hex[2 * n]) << 4 |
				      parse_hex_digit(hex[2 * n + 1]));
	s->secret_len = n;
}

/* OpenSSL's log of secrets: the one public way to learn those of TLS 1.3. */
static void secret_made(const SSL *ssl, const char *line)
{
	struct attach_secure *s = SSL_get_app_data(ssl);

	keep(s, line, "CLIENT_TRAFFIC_SECRET_0", s->client_secret);
	keep(s, line, "SERVER_TRAFFIC_SECRET_0", s->server_secret);
}

/* --------------------------------------------------------------- handshake */

/* What OpenSSL has said of a call that moved nothing. */
static int outcome(struct attach_secure *s, int result)
{
	switch (SSL_get_error(s->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return -ECONNRESET;
	}
	if (s->error || s->ended) {
		ERR_clear_error();
		return s->error ? s->error : -ECONNRESET;
	}
	return attach_secure_failed(s);
}

static bool is_address(const char *text)
{
	uint8_t buf[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, buf) == 1 ||
	       inet_pton(AF_INET6, text, buf) == 1;
}

/* Have the server's certificate compared with who it should be. */
static bool expect_host(SSL *ssl, const char *host)
{
	if (!host)
		return true;
	if (is_address(host))
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
						     host) == 1;
	return SSL_set1_host(ssl, host) == 1 &&
	       SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool prepare(struct attach_secure *s)
{
	SSL_CTX *ctx = io_tls_client_context(s->peer->client);

	SSL_CTX_set_keylog_callback(ctx, secret_made);
	s->ssl = SSL_new(ctx);
	if (!s->ssl || !add_bio(s) || !expect_host(s->ssl, s->peer->host))
		return false;
	SSL_set_app_data(s->ssl, s);
	SSL_set_msg_callback(s->ssl, heard);
	SSL_set_msg_callback_arg(s->ssl, s);
	SSL_set_verify(s->ssl, SSL_get_verify_mode(s->ssl),
		       attach_secure_verified);
	SSL_set_mode(s->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
				     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_set_connect_state(s->ssl);
	return true;
}

struct attach_secure *attach_secure_new(int fd, const struct attach_peer *peer)
{
	struct attach_secure *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = fd;
	s->peer = peer;
	ERR_clear_error();
	if (prepare(s))
		return s;
	attach_secure_free(s, false);
	return NULL;
}

int attach_secure_handshake(struct attach_secure *s,
			    const struct attach_wait *wait)
{
	int error, result;

	while ((result = SSL_do_handshake(s->ssl)) != 1) {
		error = outcome(s, result);
		if (error == -EAGAIN)
			error = attach_wait_for(wait, s->fd,
						attach_secure_wants(s));
		if (error)
			return error;
	}
	s->done = true;
	return 0;
}

/* ------------------------------------------------------------------ moving */

ssize_t attach_secure_read(struct attach_secure *s, void *buf, size_t len)
{
	size_t n;
	int result = SSL_read_ex(s->ssl, buf, len, &n);

	return result == 1 ? (ssize_t)n : outcome(s, result);
}

ssize_t attach_secure_write(struct attach_secure *s, const void *buf,
			    size_t len)
{
	size_t n;
	char byte;
	int result = SSL_write_ex(s->ssl, buf, len, &n);
	ssize_t error = result == 1 ? (ssize_t)n : outcome(s, result);

	/* A server that has closed may have said why. */
	if (error == -ECONNRESET && !s->ended) {
		s->error = 0;
		if (SSL_peek(s->ssl, &byte, 1) <= 0)
			error = outcome(s, -1);
		if (error >= 0 || error == -EAGAIN)
			error = -ECONNRESET;
	}
	return error;
}

short attach_secure_wants(const struct attach_secure *s)
{
	return SSL_want_write(s->ssl) ? POLLOUT : POLLIN;
}

bool attach_secure_empty(const struct attach_secure *s)
{
	return SSL_pending(s->ssl) == 0 && SSL_has_pending(s->ssl) == 0;
}

void attach_secure_text(const struct attach_secure *s, const char *how,
			char *buf, size_t size)
{
	snprintf(buf, size, "%s %s (%s)", SSL_get_version(s->ssl),
		 SSL_get_cipher_name(s->ssl), how);
}

void attach_secure_free(struct attach_secure *s, bool polite)
{
	if (!s)
		return;
	if (s->ssl && !polite)
		SSL_set_quiet_shutdown(s->ssl, 1);
	else if (s->ssl && s->done)
		SSL_shutdown(s->ssl);
	SSL_free(s->ssl);
	ERR_clear_error();
	OPENSSL_cleanse(s, sizeof(*s));
	free(s);
}
