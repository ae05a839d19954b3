/* SPDX-License-Identifier: BSD-3-Clause */
/* No test: the client's links (src/attach/link.h) for tests, in the place of the
 * kernel that they are made for.
 *
 *	link-io [-r] [-t MILLISECONDS] [-e EPOCH] [-n REQUESTS] [-a] [-c] [-w] URI
 *
 * opens URI (-e: by a session, always the same one), says on standard output what it
 * has been told, and then writes and reads REQUESTS times, of all sizes, four requests
 * on their way at a time, and compares. -r: TLS by the relay. -a: asks only. -c: gives
 * up when standard input says something, or ends. -w: then waits
 * until that ends, or the link does, which is told by the word dead. A failure is a line ERRNO: TEXT, status 1. */
#include <errno.h>
#include <endian.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "link.h"

#define BATCH 4u
#define MOST (256u << 10) /* bytes of one request */

static uint64_t seed = 88172645463325252u;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

__attribute__((noreturn)) static void failed(const char *what)
{
	printf("IO: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---------------------------------------------------------------- requests */

static void put_all(int fd, const void *buf, size_t len)
{
	const char *at = buf;
	ssize_t n;

	for (; len > 0; at += n, len -= n) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			failed("sending");
	}
}

static void get_all(int fd, void *buf, size_t len)
{
	char *at = buf;
	ssize_t n;

	for (; len > 0; at += n, len -= n) {
		n = recv(fd, at, len, 0);
		if (n <= 0)
			failed("receiving");
	}
}

static void request(int fd, uint16_t type, uint64_t cookie, uint64_t off,
		    uint32_t len)
{
	const struct nbd_request r = {
		.magic = htobe32(NBD_REQUEST_MAGIC),
		.type = htobe16(type),
		.cookie = cookie,
		.offset = htobe64(off),
		.length = htobe32(len),
	};

	put_all(fd, &r, sizeof(r));
}

/* Returns which one it is of. */
static uint64_t reply(int fd)
{
	struct nbd_simple_reply r;

	get_all(fd, &r, sizeof(r));
	errno = EPROTO;
	if (r.magic != htobe32(NBD_SIMPLE_REPLY_MAGIC))
		failed("magic of a reply");
	errno = EIO;
	if (r.error || r.cookie >= BATCH)
		failed("reply");
	return r.cookie;
}

/* One batch that does not overlap, written and read again. */
static void round_trip(int fd, uint64_t size)
{
	static uint8_t data[BATCH][MOST], back[MOST];
	uint32_t len[BATCH];
	uint64_t off[BATCH], share = size / BATCH, i, n, k;

	for (i = 0; i < BATCH; i++) {
		len[i] = 1 + (uint32_t)(random_number() >>
					(32 + random_number() % 31)) %
				     (MOST < share ? MOST : share);
		off[i] = i * share + random_number() % (share - len[i] + 1);
		for (k = 0; k < len[i]; k++)
			data[i][k] = (uint8_t)(random_number() >> 20);
		request(fd, NBD_CMD_WRITE, i, off[i], len[i]);
		put_all(fd, data[i], len[i]);
	}
	for (n = 0; n < BATCH; n++)
		reply(fd);
	for (i = 0; i < BATCH; i++)
		request(fd, NBD_CMD_READ, i, off[i], len[i]);
	for (n = 0; n < BATCH; n++) {
		i = reply(fd);
		get_all(fd, back, len[i]);
		errno = EILSEQ;
		if (memcmp(back, data[i], len[i]) != 0)
			failed("other data");
	}
}

/* ------------------------------------------------------------------- links */

static void show(const struct attach_terms *t)
{
	printf("size=%" PRIu64 " flags=0x%x blocks=%u,%u,%u%s name=%s "
	       "description=\"%s\"",
	       t->size, t->flags, t->block_min, t->block_preferred,
	       t->payload_max, t->block_size_told ? "" : "(untold)", t->name,
	       t->description);
	if (t->has_identity)
		printf(" uuid=%s gen=%" PRIu64, t->uuid, t->gen);
	if (t->tls)
		printf(" tls=\"%s\"", t->tls_text);
	printf("\n");
	fflush(stdout);
}

static int refused(int error, const struct attach_why *why)
{
	printf("%s: %s\n", strerrorname_np(-error), why->text);
	return 1;
}

/* A socket for the kernel: waits, and has no time limits. */
static void look_at(int fd)
{
	struct timeval limit;
	socklen_t len = sizeof(limit);

	errno = EINVAL;
	if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &len) < 0 ||
	    limit.tv_sec || limit.tv_usec)
		failed("a limit to receiving");
	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &len) < 0 ||
	    limit.tv_sec || limit.tv_usec)
		failed("a limit to sending");
	if (recv(fd, &limit, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		failed("something to be read before anything was asked");
}

/* Until standard input ends. False: the link has, or says what nobody asked for. */
static bool is_alive(int fd)
{
	struct pollfd fds[2] = {{.fd = 0, .events = POLLIN},
				{.fd = fd, .events = POLLIN}};

	if (poll(fds, 2, -1) < 0)
		failed("poll");
	return !fds[1].revents;
}

static int use(struct attach_target *t, const struct proto_session *session,
	       int timeout, int cancel, unsigned requests, bool wait)
{
	uint8_t disc[PROTO_DISC_SIZE];
	struct attach_link link;
	struct attach_why why;
	int error = attach_link_open(t, session, timeout, cancel, &link, &why);

	if (error)
		return refused(error, &why);
	show(&link.terms);
	look_at(link.fd);
	for (unsigned i = 0; i < requests; i++)
		round_trip(link.fd, link.terms.size);
	if (wait && !is_alive(link.fd)) {
		printf("dead\n");
		attach_link_close(&link);
		return 0;
	}
	proto_put_disc(disc);
	put_all(link.fd, disc, sizeof(disc));
	attach_link_close(&link);
	return 0;
}

int main(int argc, char **argv)
{
	struct proto_session session = {.uuid = {0x11, 0x22, 0x33}};
	struct attach_options options = {0};
	bool has_session = false, ask = false, wait = false;
	int timeout = 10000, cancel = -1, error, c;
	unsigned requests = 0;
	struct attach_target *t;
	struct attach_terms terms;
	struct attach_why why;

	while ((c = getopt(argc, argv, "rt:e:n:acw")) != -1) {
		if (c == 'r')
			options.relay = true;
		else if (c == 't')
			timeout = atoi(optarg);
		else if (c == 'n')
			requests = (unsigned)atoi(optarg);
		else if (c == 'a')
			ask = true;
		else if (c == 'c')
			cancel = 0;
		else if (c == 'w')
			wait = true;
		else if (c == 'e')
			session.epoch = strtoull(optarg, NULL, 10);
		else
			return 2;
		has_session = has_session || c == 'e';
	}
	if (optind + 1 != argc)
		return 2;
	error = attach_target_open(argv[optind], &options, &t, &why);
	if (error)
		return refused(error, &why);
	if (ask)
		error = attach_link_ask(t, timeout, cancel, &terms, &why);
	else
		error = use(t, has_session ? &session : NULL, timeout, cancel,
			    requests, wait);
	if (ask && error)
		error = refused(error, &why);
	else if (ask)
		show(&terms);
	attach_target_close(t);
	return error;
}
