/* SPDX-License-Identifier: BSD-3-Clause */
/* Data through TLS, in all shapes; ends of all kinds. */
#include "unit/unit.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/tls-world.h"

#define MIB (1 << 20)

static struct world world;
static struct io_tls *tls;
static struct client usual;

static int begin(void **state)
{
	(void)state;
	world_begin(&world);
	tls = world_load(&world, NULL, true);
	usual.shows = world.client;
	usual.trusts = world.authority;
	return tls ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	io_tls_put(tls);
	world_end(&world);
	return 0;
}

static uint8_t *noise(size_t len)
{
	uint8_t *bytes = malloc(len);

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(rand() >> 7);
	return bytes;
}

static ssize_t read_one(struct pair *p, void *buf, size_t len)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	return io_readv(&p->io, &iov, 1);
}

static ssize_t write_one(struct pair *p, const void *buf, size_t len)
{
	struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};

	return io_writev(&p->io, &iov, 1);
}

static void secured(struct pair *p, int version)
{
	struct client c = usual;

	c.version = version;
	assert_int_equal(pair_begin(p, tls, &c), 0);
	assert_int_equal(io_unsent(&p->io), 0);
	assert_int_equal(io_pending(&p->io), 0);
}

/* ------------------------------------------------------------------- data */

static void versions(void **state)
{
	static const int both[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	char buf[16];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pair p;

		secured(&p, both[i]);
		assert_string_equal(io_tls_version(&p.io),
				    i ? "TLSv1.3" : "TLSv1.2");
		/* Ours is the choice, and AES-128 is the first one. */
		if (__builtin_cpu_supports("aes"))
			assert_string_equal(io_tls_cipher(&p.io),
					    i ? "TLS_AES_128_GCM_SHA256"
					      : "ECDHE-ECDSA-AES128-GCM-"
						"SHA256");
		assert_int_equal(read_one(&p, buf, sizeof(buf)), -EAGAIN);
		client_write(&p, "hello", 5);
		assert_int_equal(read_one(&p, buf, sizeof(buf)), 5);
		assert_memory_equal(buf, "hello", 5);
		assert_int_equal(read_one(&p, buf, sizeof(buf)), -EAGAIN);
		assert_int_equal(write_one(&p, "world", 5), 5);
		assert_int_equal(client_read(&p, buf, sizeof(buf)), 5);
		assert_memory_equal(buf, "world", 5);
		/* No ticket, no second handshake. */
		assert_int_equal(SSL_SESSION_has_ticket(SSL_get_session(p.ssl)),
				 0);
		pair_end(&p);
	}
}

static void older_version(void **state)
{
	struct client c = usual;
	struct pair p;

	(void)state;
	c.version = TLS1_1_VERSION;
	assert_true(pair_begin(&p, tls, &c) < 0);
	assert_string_equal(io_reason(&p.io), "its TLS is older than 1.2");
	pair_end(&p);
}

/* The server writes pieces of any length while the client reads. */
static void scattered_writes(void **state)
{
	uint8_t *data = noise(MIB), *came = malloc(MIB + 1);
	struct iovec iov[300];
	struct pair p;

	(void)state;
	secured(&p, 0);
	for (int round = 0; round < 20; round++) {
		size_t have = 0, sent = 0, off = 0;
		int n = 0, got;

		while (n < 300 && off < MIB) {
			size_t len = round % 3 == 0   ? 4096
				     : round % 3 == 1 ? (size_t)rand() % 40000
						      : (size_t)rand() % 40;

			if (len > MIB - off)
				len = MIB - off;
			iov[n].iov_base = data + off;
			iov[n++].iov_len = len;
			off += len;
		}
		while (sent < off || io_unsent(&p.io)) {
			struct iovec rest[300];
			size_t skip = sent;
			int from = 0, i;
			ssize_t put;

			while (from < n && skip >= iov[from].iov_len)
				skip -= iov[from++].iov_len;
			for (i = from; i < n; i++)
				rest[i - from] = iov[i];
			if (from < n) {
				rest[0].iov_base =
					(char *)rest[0].iov_base + skip;
				rest[0].iov_len -= skip;
				put = io_writev(&p.io, rest, n - from);
				assert_true(put > 0 || put == -EAGAIN);
				sent += put > 0 ? put : 0;
			} else {
				got = io_flush(&p.io);
				assert_true(got == 0 || got == -EAGAIN);
			}
			/* It keeps a batch at most. */
			assert_true(io_unsent(&p.io) <= 4 * (16384 + 256));
			got = client_read(&p, came + have, MIB - have);
			assert_true(got >= 0);
			have += got;
		}
		while (have < off) {
			got = client_read(&p, came + have, MIB - have);
			assert_true(got >= 0);
			have += got;
		}
		assert_int_equal(have, off);
		assert_memory_equal(came, data, off);
	}
	pair_end(&p);
	free(data);
	free(came);
}

static unsigned records;
static size_t record_bytes;

static void count_records(int write, int version, int type, const void *buf,
			  size_t len, SSL *ssl, void *arg)
{
	(void)version;
	(void)ssl;
	(void)arg;
	if (!write && type == SSL3_RT_HEADER && len == 5) {
		records++;
		record_bytes += ((const uint8_t *)buf)[3] << 8 |
				((const uint8_t *)buf)[4];
	}
}

/* Blocks of 4 KiB with headers between leave as full records. */
static void full_records(void **state)
{
	uint8_t *data = noise(MIB), *came = malloc(MIB);
	struct iovec iov[64];
	ssize_t put, got = 0;
	struct pair p;

	(void)state;
	secured(&p, TLS1_3_VERSION);
	for (int i = 0; i < 32; i++) {
		iov[2 * i].iov_base = data;
		iov[2 * i].iov_len = 16;
		iov[2 * i + 1].iov_base = data + 4096 * (i + 1);
		iov[2 * i + 1].iov_len = 4096;
	}
	put = io_writev(&p.io, iov, 64);
	assert_true(put > 0);
	SSL_set_msg_callback(p.ssl, count_records);
	records = record_bytes = 0;
	while (got < put) {
		int n = client_read(&p, came + got, MIB - got);

		assert_true(n >= 0);
		got += n;
		n = io_flush(&p.io);
		assert_true(n == 0 || n == -EAGAIN);
	}
	assert_int_equal(records, (put + 16383) / 16384);
	pair_end(&p);
	free(data);
	free(came);
}

/* One read takes what many records bring, into any pieces. */
static void batched_reads(void **state)
{
	uint8_t *data = noise(MIB), *came = malloc(MIB);
	struct pair p;

	(void)state;
	secured(&p, 0);
	for (int round = 0; round < 40; round++) {
		size_t len = 1 + (size_t)rand() % 100000, have = 0, sent = 0;

		while (have < len) {
			size_t at = have;
			struct iovec iov[40];
			ssize_t got;
			int n;

			while (sent < len) {
				int part = 1 + rand() % 20000;

				if ((size_t)part > len - sent)
					part = (int)(len - sent);
				n = SSL_write(p.ssl, data + sent, part);
				if (n <= 0)
					break;
				sent += n;
			}
			for (n = 0; n < 40 && at < len; n++) {
				size_t part = 1 + (size_t)rand() % 5000;

				if (part > len - at)
					part = len - at;
				iov[n].iov_base = came + at;
				iov[n].iov_len = part;
				at += part;
			}
			got = io_readv(&p.io, iov, n);
			assert_true(got > 0);
			have += got;
			/* The socket may be empty, and all is here. */
			if (sent == len && have < len && rand() % 2)
				assert_true(io_pending(&p.io) > 0 ||
					    have + 1 < len);
		}
		assert_memory_equal(came, data, len);
	}
	assert_int_equal(read_one(&p, came, 10), -EAGAIN);
	assert_int_equal(io_pending(&p.io), 0);
	pair_end(&p);
	free(data);
	free(came);
}

/* What is left behind a small read shows, though the socket is empty. */
static void pending(void **state)
{
	char buf[8];
	struct pair p;

	(void)state;
	secured(&p, 0);
	client_write(&p, "one", 3);
	client_write(&p, "two", 3);
	assert_int_equal(read_one(&p, buf, 2), 2);
	assert_true(io_pending(&p.io) > 0);
	assert_int_equal(read_one(&p, buf, 1), 1);
	assert_true(io_pending(&p.io) > 0);
	assert_int_equal(read_one(&p, buf, 8), 3);
	assert_memory_equal(buf, "two", 3);
	assert_int_equal(io_pending(&p.io), 0);
	pair_end(&p);
}

/* A record that comes byte by byte. */
static void slow_record(void **state)
{
	struct pair p;
	uint8_t record[300];
	char buf[300];
	ssize_t len;

	(void)state;
	secured(&p, 0);
	client_write(&p, "slowly", 6);
	/* Take it from the server's end, and give it back in parts. */
	len = recv(p.io.fd, record, sizeof(record), 0);
	assert_true(len > 6);
	for (ssize_t i = 0; i < len; i++) {
		assert_int_equal(read_one(&p, buf, sizeof(buf)), -EAGAIN);
		assert_int_equal(io_pending(&p.io), 0);
		/* The client's socket, past OpenSSL. */
		assert_int_equal(send(p.fd, record + i, 1, 0), 1);
	}
	assert_int_equal(read_one(&p, buf, sizeof(buf)), 6);
	assert_memory_equal(buf, "slowly", 6);
	pair_end(&p);
}

/* ------------------------------------------------------------------- ends */

static void end_politely(void **state)
{
	char buf[8];
	struct pair p;

	(void)state;
	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION;
	     version++) {
		secured(&p, version);
		client_write(&p, "bye", 3);
		SSL_shutdown(p.ssl);
		assert_int_equal(read_one(&p, buf, 8), 3);
		/* Nothing more comes by the socket: it must be told. */
		assert_true(io_pending(&p.io) > 0);
		assert_int_equal(read_one(&p, buf, 8), 0);
		assert_int_equal(read_one(&p, buf, 8), 0);
		/* It may listen still. */
		assert_int_equal(write_one(&p, "yes", 3), 3);
		pair_end(&p);
	}
}

/* A FIN without a word, between records and within one. */
static void end_by_fin(void **state)
{
	uint8_t record[100];
	char buf[8];
	struct pair p;

	(void)state;
	secured(&p, 0);
	client_write(&p, "bye", 3);
	shutdown(p.fd, SHUT_WR);
	assert_int_equal(read_one(&p, buf, 8), 3);
	assert_int_equal(read_one(&p, buf, 8), 0);
	assert_int_equal(read_one(&p, buf, 8), 0);
	assert_int_equal(write_one(&p, "yes", 3), 3);
	assert_int_equal(client_read(&p, buf, 8), 3);
	pair_end(&p);

	secured(&p, 0);
	client_write(&p, "bye", 3);
	assert_true(recv(p.io.fd, record, sizeof(record), 0) > 12);
	assert_int_equal(send(p.fd, record, 12, 0), 12);
	shutdown(p.fd, SHUT_WR);
	/* The socket tells of its end once more. */
	assert_int_equal(read_one(&p, buf, 8), -EAGAIN);
	assert_int_equal(read_one(&p, buf, 8), 0);
	assert_int_equal(read_one(&p, buf, 8), 0);
	pair_end(&p);
}

/* A Unix socket that is closed with something unread in it is reset. */
static void end_by_reset(void **state)
{
	char buf[8];
	struct pair p;

	(void)state;
	secured(&p, 0);
	assert_int_equal(write_one(&p, "unread", 6), 6);
	client_write(&p, "bye", 3);
	close(p.fd);
	p.fd = -1;
	assert_int_equal(read_one(&p, buf, 8), 3);
	assert_true(read_one(&p, buf, 8) <= 0);
	assert_true(write_one(&p, "yes", 3) < 0);
	pair_end(&p);
}

/* Closing says so to the client. */
static void close_tells(void **state)
{
	char buf[8];
	struct pair p;

	(void)state;
	secured(&p, 0);
	assert_int_equal(write_one(&p, "last", 4), 4);
	io_close(&p.io);
	assert_int_equal(client_read(&p, buf, 4), 4);
	assert_int_equal(SSL_read(p.ssl, buf, 1), 0);
	assert_int_equal(SSL_get_error(p.ssl, 0), SSL_ERROR_ZERO_RETURN);
	pair_end(&p);
}

static void garbage_in_stream(void **state)
{
	uint8_t *bytes = noise(1000);
	char buf[8];
	struct pair p;

	(void)state;
	for (int i = 0; i < 50; i++) {
		secured(&p, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
		client_write(&p, "good", 4);
		/* As a record of data, and as nothing at all. */
		if (i % 3 == 0)
			memcpy(bytes, "\x17\x03\x03\x00\x40", 5);
		assert_int_equal(send(p.fd, bytes + i, 500, 0), 500);
		if (i % 3 == 0)
			bytes[0] = (uint8_t)rand();
		assert_int_equal(read_one(&p, buf, 8), 4);
		assert_true(io_pending(&p.io) > 0);
		assert_true(read_one(&p, buf, 8) <= 0);
		assert_true(read_one(&p, buf, 8) <= 0);
		pair_end(&p);
	}
	free(bytes);
}

static void garbage_instead(void **state)
{
	uint8_t *bytes = noise(100000);
	struct pair p;

	(void)state;
	for (int i = 0; i < 100; i++) {
		pair_sockets(&p, tls);
		assert_int_equal(io_tls_handshake(&p.io), -EAGAIN);
		assert_int_equal(send(p.fd, bytes + rand() % 90000, 600, 0),
				 600);
		/* It may look like the beginning of something. */
		shutdown(p.fd, SHUT_WR);
		assert_true(io_tls_handshake(&p.io) < 0);
		assert_true(strlen(io_reason(&p.io)) > 5);
		pair_end(&p);
	}
	pair_sockets(&p, tls);
	assert_int_equal(send(p.fd, "IHAVEOPT\0\0\0\7", 12, 0), 12);
	assert_int_equal(io_tls_handshake(&p.io), -EPROTO);
	assert_string_equal(io_reason(&p.io), "it does not speak TLS");
	pair_end(&p);
	pair_sockets(&p, tls);
	close(p.fd);
	p.fd = -1;
	assert_true(io_tls_handshake(&p.io) < 0);
	assert_string_equal(io_reason(&p.io), "it has gone");
	pair_end(&p);
	free(bytes);
}

/* A client that asks for new keys without end, and reads nothing, does not make
 * us keep the answers. */
static void key_updates(void **state)
{
	struct pair p;
	char buf[8];
	int i;

	(void)state;
	secured(&p, TLS1_3_VERSION);
	client_write(&p, "a", 1);
	assert_int_equal(read_one(&p, buf, 8), 1);
	for (i = 0; i < 20; i++) {
		SSL_key_update(p.ssl, SSL_KEY_UPDATE_REQUESTED);
		client_write(&p, "b", 1);
		assert_int_equal(read_one(&p, buf, 8), 1);
	}
	assert_int_equal(write_one(&p, "c", 1), 1);
	assert_int_equal(client_read(&p, buf, 8), 1);
	for (i = 0; i < 20000; i++) {
		SSL_key_update(p.ssl, SSL_KEY_UPDATE_REQUESTED);
		if (SSL_write(p.ssl, "d", 1) <= 0)
			break;
		if (read_one(&p, buf, 8) != 1)
			break;
		assert_true(io_unsent(&p.io) < 100000);
	}
	pair_end(&p);
}

/* A stream that is silent holds next to nothing. */
static void idle_memory(void **state)
{
	static struct pair p[200];
	uint8_t *data = noise(100000);
	size_t before, after;
	int i;

	(void)state;
	for (i = 0; i < 200; i++)
		pair_sockets(&p[i], tls);
	for (i = 0; i < 200; i++)
		pair_end(&p[i]);
	for (i = 0; i < 200; i++)
		secured(&p[i], TLS1_3_VERSION);
	for (i = 0; i < 200; i++) {
		client_write(&p[i], data, 20000);
		assert_int_equal(read_one(&p[i], data, 50000), 20000);
		assert_int_equal(write_one(&p[i], data, 20000), 20000);
		assert_int_equal(client_read(&p[i], data, 20000), 20000);
	}
	before = mallinfo2().uordblks;
	for (i = 0; i < 200; i++)
		io_close(&p[i].io);
	after = mallinfo2().uordblks;
	if (before > after) {
		print_message("%zu bytes for an idle stream\n",
			      (before - after) / 200);
		assert_true((before - after) / 200 < 32000);
	}
	for (i = 0; i < 200; i++)
		pair_end(&p[i]);
	free(data);
}

/* --------------------------------------------------------------- who it is */

struct names {
	char text[300];
};

static int add_name(void *arg, enum io_name kind, const char *name)
{
	static const char *const kinds[] = {"cn", "dns", "uri", "psk"};
	struct names *n = arg;
	size_t have = strlen(n->text);

	snprintf(n->text + have, sizeof(n->text) - have, "%s:%s ", kinds[kind],
		 name);
	return 0;
}

static void names(void **state)
{
	struct names n = {""};
	struct pair p;

	(void)state;
	secured(&p, 0);
	assert_int_equal(io_tls_names(&p.io, add_name, &n), 0);
	assert_string_equal(n.text, "cn:client-1 dns:localhost "
				    "uri:urn://disk ");
	pair_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions),
		cmocka_unit_test(older_version),
		cmocka_unit_test(scattered_writes),
		cmocka_unit_test(full_records),
		cmocka_unit_test(batched_reads),
		cmocka_unit_test(pending),
		cmocka_unit_test(slow_record),
		cmocka_unit_test(end_politely),
		cmocka_unit_test(end_by_fin),
		cmocka_unit_test(end_by_reset),
		cmocka_unit_test(close_tells),
		cmocka_unit_test(garbage_in_stream),
		cmocka_unit_test(garbage_instead),
		cmocka_unit_test(key_updates),
		cmocka_unit_test(idle_memory),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
