/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket limit: what moving the messages costs by itself.
 *
 *   socket-limit SIZE PORT | unix:PATH
 *
 * It receives what an NBD server receives and sends what such a server sends,
 * byte for byte, and does nothing else. A client's words in the handshake are
 * answered with fixed ones. Of a request the cookie is sent back; the first
 * request of a connection tells what all of them will be (their kind and
 * length), and nothing is looked at again. There is no table of blocks: data
 * comes from and goes to SIZE bytes of touched memory, at the request's offset
 * for reads, at random for writes (streams: one after the other), so that it can
 * be received in its place before anything is known about it. No server can do
 * that; it makes this the floor, and not one more server.
 *
 * One thread, epoll. One receive takes all that has come, one gathered send
 * answers all of it. On TCP at 127.0.0.1, or on a Unix socket. It says "ready"
 * once it listens, and ends by a signal. */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "nbd.h"
#include "parse.h"

#define REQUESTS_MAX 256 /* answered at a time */
#define EVENTS_MAX 64

/* Longer ones are a stream. */
#define RANDOM_MOST (64u << 10)

/* In one call, with payload, and what a Unix socket holds: tried out; with more
 * it becomes no cheaper. */
#define RECEIVE_BYTES (UINT64_C(1) << 20)
#define SEND_BYTES (UINT64_C(4) << 20)
#define UNIX_SEND_BUFFER (1 << 20)

struct message {
	struct nbd_request request;
	uint8_t *place; /* of a write's payload */
};

struct connection {
	int fd;
	bool knows; /* what its requests are */
	bool writes;
	bool wants_room; /* EPOLLOUT is armed instead of EPOLLIN */
	uint64_t length;

	/* What comes; of the first one, `have` bytes are here. */
	union {
		struct message in[REQUESTS_MAX];	   /* if it writes */
		struct nbd_request requests[REQUESTS_MAX]; /* if it reads */
	};
	uint64_t have;

	/* What goes: replies, with payload for reads. */
	struct nbd_simple_reply replies[REQUESTS_MAX];
	struct iovec out[2 * REQUESTS_MAX];
	unsigned out_first, out_count;
};

static uint8_t *area;
static uint64_t size, next_place;
static uint64_t seed = 88172645463325252u;
static int epoll_fd;

static void die(const char *what)
{
	fprintf(stderr, "socket-limit: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint8_t *place_for(uint64_t length)
{
	if (length <= RANDOM_MOST) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		return area + round_down(seed % (size - length + 1), 4096);
	}
	if (next_place + length > size)
		next_place = 0;
	next_place += length;
	return area + next_place - length;
}

/* -------------------------------------------------------------- handshake */

/* Blocks; false: the client has gone. */
static bool hear(int fd, void *buf, size_t len)
{
	return recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len;
}

static bool say(int fd, const void *buf, size_t len)
{
	return send(fd, buf, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool say_open(int fd)
{
	struct {
		struct nbd_option_reply info;
		struct nbd_info_export export;
		struct nbd_option_reply ack;
	} NBD_PACKED open = {
		.info = {htobe64(NBD_OPTION_REPLY_MAGIC), htobe32(NBD_OPT_GO),
			 htobe32(NBD_REP_INFO), htobe32(sizeof(open.export))},
		.export = {htobe16(NBD_INFO_EXPORT), htobe64(size),
			   htobe16(NBD_FLAG_HAS_FLAGS |
				   NBD_FLAG_CAN_MULTI_CONN)},
		.ack = {htobe64(NBD_OPTION_REPLY_MAGIC), htobe32(NBD_OPT_GO),
			htobe32(NBD_REP_ACK), 0},
	};

	return say(fd, &open, sizeof(open));
}

static bool say_unsupported(int fd, uint32_t option)
{
	const struct nbd_option_reply no = {htobe64(NBD_OPTION_REPLY_MAGIC),
					    option, htobe32(NBD_REP_ERR_UNSUP),
					    0};

	return say(fd, &no, sizeof(no));
}

/* The first words, whatever the client says, until it asks to GO. */
static bool greet(int fd)
{
	const struct nbd_greeting greeting = {
		htobe64(NBD_MAGIC), htobe64(NBD_OPTION_MAGIC),
		htobe16(NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES)};
	struct nbd_option_header header;
	uint8_t data[4096];
	uint32_t flags;

	if (!say(fd, &greeting, sizeof(greeting)) ||
	    !hear(fd, &flags, sizeof(flags)))
		return false;
	for (;;) {
		if (!hear(fd, &header, sizeof(header)) ||
		    be32toh(header.length) > sizeof(data) ||
		    !hear(fd, data, be32toh(header.length)))
			return false;
		if (be32toh(header.option) == NBD_OPT_GO)
			return say_open(fd);
		if (!say_unsupported(fd, header.option))
			return false;
	}
}

static void welcome(int listener)
{
	struct epoll_event e = {.events = EPOLLIN};
	struct connection *c;
	const int yes = 1, buffer = UNIX_SEND_BUFFER;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		die("accept");
	/* TCP tunes its buffers itself. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	c = calloc(1, sizeof(*c));
	if (!c)
		die("connection");
	c->fd = fd;
	e.data.ptr = c;
	if (!greet(fd) || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0) {
		close(fd);
		free(c);
	}
}

static void hang_up(struct connection *c)
{
	close(c->fd);
	free(c);
}

/* ---------------------------------------------------------------- sending */

static void arm(struct connection *c, bool room)
{
	struct epoll_event e = {
		.events = room ? EPOLLOUT : EPOLLIN,
		.data.ptr = c,
	};

	if (c->wants_room == room)
		return;
	c->wants_room = room;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e) < 0)
		die("epoll");
}

static void put(struct connection *c, void *base, uint64_t len)
{
	c->out[c->out_count++] = (struct iovec){base, len};
}

/* A reply to the request; the n-th that is now on its way. */
static void reply(struct connection *c, const struct nbd_request *r, unsigned n)
{
	c->replies[n] = (struct nbd_simple_reply){
		.magic = htobe32(NBD_SIMPLE_REPLY_MAGIC),
		.cookie = r->cookie,
	};
	if (c->writes) /* they are neighbours, and go as one piece */
		return;
	put(c, &c->replies[n], sizeof(c->replies[n]));
	put(c, area + be64toh(r->offset) % (size - c->length + 1), c->length);
}

static bool flush(struct connection *c)
{
	struct msghdr msg = {0};
	uint64_t bytes;
	ssize_t n;

	while (c->out_count > 0) {
		msg.msg_iov = &c->out[c->out_first];
		msg.msg_iovlen = 0;
		bytes = 0;
		while (msg.msg_iovlen < c->out_count && bytes < SEND_BYTES)
			bytes += msg.msg_iov[msg.msg_iovlen++].iov_len;
		n = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return false;
		bytes -= n < 0 ? 0 : n;
		while (n > 0) {
			struct iovec *iov = &c->out[c->out_first];
			uint64_t part = min_u64(n, iov->iov_len);

			iov->iov_base = (uint8_t *)iov->iov_base + part;
			iov->iov_len -= part;
			n -= part;
			if (iov->iov_len == 0) {
				c->out_first++;
				c->out_count--;
			}
		}
		if (bytes > 0) {
			arm(c, true);
			return true;
		}
	}
	c->out_first = 0;
	arm(c, false);
	return true;
}

/* -------------------------------------------------------------- receiving */

/* All bytes of messages that have come as far as their places are known. */
static ssize_t receive(struct connection *c)
{
	struct iovec iov[2 * REQUESTS_MAX];
	struct msghdr msg = {.msg_iov = iov};
	uint64_t skip = c->have, bytes = 0, part;

	for (unsigned i = 0; i < REQUESTS_MAX && bytes < RECEIVE_BYTES; i++) {
		struct message *m = &c->in[i];
		struct iovec *at = &iov[msg.msg_iovlen];

		part = min_u64(skip, sizeof(m->request));
		if (part < sizeof(m->request)) {
			at->iov_base = (uint8_t *)&m->request + part;
			at->iov_len = sizeof(m->request) - part;
			bytes += at->iov_len;
			msg.msg_iovlen++;
			at++;
		}
		skip -= part;
		at->iov_base = m->place + skip;
		at->iov_len = c->length - skip;
		bytes += at->iov_len;
		msg.msg_iovlen++;
		skip = 0;
	}
	return recvmsg(c->fd, &msg, MSG_DONTWAIT);
}

static ssize_t receive_headers(struct connection *c)
{
	return recv(c->fd, (uint8_t *)c->requests + c->have,
		    sizeof(c->requests) - c->have, MSG_DONTWAIT);
}

/* What the first request says; it stays where it is. */
static bool learn(struct connection *c)
{
	struct nbd_request r;

	if (recv(c->fd, &r, sizeof(r), MSG_PEEK | MSG_WAITALL) != sizeof(r) ||
	    be16toh(r.type) > NBD_CMD_WRITE || be32toh(r.length) > size)
		return false;
	c->writes = be16toh(r.type) == NBD_CMD_WRITE;
	c->length = be32toh(r.length);
	for (unsigned i = 0; c->writes && i < REQUESTS_MAX; i++)
		c->in[i].place = place_for(c->length);
	c->knows = true;
	return true;
}

static bool take_writes(struct connection *c)
{
	uint64_t whole = sizeof(struct nbd_request) + c->length;
	unsigned n = 0;

	for (; c->have >= whole; c->have -= whole) {
		reply(c, &c->in[n].request, n);
		c->in[n++].place = place_for(c->length);
	}
	if (n == 0)
		return true;
	/* The one that has begun comes first now, with its place. */
	if (c->have > 0) {
		struct message begun = c->in[n];

		c->in[n].place = c->in[0].place;
		c->in[0] = begun;
	}
	put(c, c->replies, n * sizeof(c->replies[0]));
	return flush(c);
}

static bool take_reads(struct connection *c)
{
	struct nbd_request *r = c->requests;
	unsigned n = 0;

	for (; c->have >= sizeof(*r); c->have -= sizeof(*r)) {
		if (be16toh(r[n].type) != NBD_CMD_READ)
			return false; /* it takes its leave */
		reply(c, &r[n], n);
		n++;
	}
	if (n > 0 && c->have > 0)
		memmove(r, r + n, c->have);
	return flush(c);
}

static bool pull(struct connection *c)
{
	ssize_t n;

	if (!c->knows && !learn(c))
		return false;
	n = c->writes ? receive(c) : receive_headers(c);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	c->have += n;
	return c->writes ? take_writes(c) : take_reads(c);
}

/* ------------------------------------------------------------------- main */

static int listen_to(const char *where)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(atoi(where)),
	};
	bool local = strncmp(where, "unix:", 5) == 0;
	const int yes = 1;
	int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC,
			0);

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (local)
		strncpy(un.sun_path, where + 5, sizeof(un.sun_path) - 1);
	if (bind(fd, local ? (void *)&un : (void *)&in,
		 local ? sizeof(un) : sizeof(in)) < 0 ||
	    listen(fd, 1024) < 0)
		die(where);
	return fd;
}

static void serve(int listener)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

	if (n < 0 && errno != EINTR)
		die("epoll");
	for (int i = 0; i < n; i++) {
		struct connection *c = events[i].data.ptr;

		if (!c)
			welcome(listener);
		else if (!(c->wants_room ? flush(c) : pull(c)))
			hang_up(c);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event e = {.events = EPOLLIN};
	int listener;

	if (argc != 3 || parse_size(argv[1], &size) < 0 || size < 4 << 20) {
		fprintf(stderr, "usage: socket-limit SIZE (4M at least) "
				"PORT | unix:PATH\n");
		return 2;
	}
	area = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (area == MAP_FAILED)
		die("memory");
	for (uint64_t i = 0; i < size; i += 8)
		memcpy(area + i, &i, 8);
	listener = listen_to(argv[2]);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &e) < 0)
		die("epoll");
	puts("ready");
	fflush(stdout);
	for (;;)
		serve(listener);
}
