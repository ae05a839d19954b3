/* SPDX-License-Identifier: BSD-3-Clause */
/* See dial.h. What is awaited is so little that whatever else comes ends the
 * program. */
#include "dial.h"

#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nbd.h"

enum stage {
	CONNECTING,
	GREETING, /* the server's first words are awaited */
	ANSWERS,  /* to GO */
	OPEN,
};

#define NAME_MAX_BYTES 255

static struct sockaddr_storage where;
static socklen_t where_len;
static char name[NAME_MAX_BYTES + 1];

void die(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(1);
}

static void dial_unix(const char *path)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&where;

	if (strlen(path) >= sizeof(un->sun_path))
		die(path, "is too long for a socket's path");
	un->sun_family = AF_UNIX;
	strcpy(un->sun_path, path);
	where_len = sizeof(*un);
}

static void dial_tcp(const char *address)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	const char *colon = strrchr(address, ':');
	char host[256];
	int error;

	if (!colon || (size_t)(colon - address) >= sizeof(host))
		die(address, "is no HOST:PORT, nor unix:PATH");
	memcpy(host, address, colon - address);
	host[colon - address] = 0;
	error = getaddrinfo(host, colon + 1, &hints, &found);
	if (error)
		die(address, gai_strerror(error));
	memcpy(&where, found->ai_addr, found->ai_addrlen);
	where_len = found->ai_addrlen;
	freeaddrinfo(found);
}

void dial_to(const char *address, const char *export)
{
	if (strlen(export) > NAME_MAX_BYTES)
		die(export, "is too long for a name");
	strcpy(name, export);
	if (strncmp(address, "unix:", 5) == 0)
		dial_unix(address + 5);
	else
		dial_tcp(address);
}

void dial_begin(struct dial *d)
{
	const int yes = 1;

	d->have = 0;
	d->stage = CONNECTING;
	d->fd = socket(where.ss_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0)
		die("socket", strerror(errno));
	if (where.ss_family != AF_UNIX)
		setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	/* A Unix socket whose queue is full says EAGAIN, and nothing later. */
	while (connect(d->fd, (struct sockaddr *)&where, where_len) < 0) {
		if (errno == EINPROGRESS)
			return;
		if (errno != EAGAIN)
			die("connect", strerror(errno));
		usleep(1000);
	}
	d->stage = GREETING;
}

int dial_connecting(const struct dial *d)
{
	return d->stage == CONNECTING;
}

static void say(struct dial *d, const void *bytes, size_t len)
{
	/* A socket that has sent nothing has room for these few. */
	if (send(d->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("handshake", strerror(errno));
}

static void ask(struct dial *d)
{
	struct {
		uint32_t flags;
		struct nbd_option_header header;
		uint32_t name_len;
		char rest[NAME_MAX_BYTES + 2]; /* name, number of infos: 0 */
	} NBD_PACKED go = {
		.flags = htobe32(NBD_FLAG_C_FIXED_NEWSTYLE |
				 NBD_FLAG_C_NO_ZEROES),
		.header = {htobe64(NBD_OPTION_MAGIC), htobe32(NBD_OPT_GO),
			   htobe32(4 + strlen(name) + 2)},
		.name_len = htobe32(strlen(name)),
	};

	memcpy(go.rest, name, strlen(name));
	say(d, &go, sizeof(go) - sizeof(go.rest) + strlen(name) + 2);
}

static void take(struct dial *d, size_t n)
{
	d->have -= n;
	memmove(d->in, d->in + n, d->have);
}

static int use_greeting(struct dial *d)
{
	const struct nbd_greeting *g = (void *)d->in;

	if (d->have < sizeof(*g))
		return 0;
	if (be64toh(g->magic) != NBD_MAGIC ||
	    be64toh(g->option_magic) != NBD_OPTION_MAGIC)
		die("handshake", "that is no NBD server of today");
	take(d, sizeof(*g));
	ask(d);
	d->stage = ANSWERS;
	return 1;
}

/* One answer to GO. */
static int use_answer(struct dial *d)
{
	const struct nbd_option_reply *r = (void *)d->in;
	const struct nbd_info_export *info = (void *)(r + 1);
	uint32_t type, len;

	if (d->have < sizeof(*r))
		return 0;
	type = be32toh(r->type);
	len = be32toh(r->length);
	if (be64toh(r->magic) != NBD_OPTION_REPLY_MAGIC ||
	    len > sizeof(d->in) - sizeof(*r))
		die("handshake", "what the server says is not understood");
	if (d->have < sizeof(*r) + len)
		return 0;
	if (type & NBD_REP_ERROR)
		die(name, "the server does not open this export");
	if (type == NBD_REP_INFO && len == sizeof(*info) &&
	    be16toh(info->type) == NBD_INFO_EXPORT)
		d->size = be64toh(info->size);
	take(d, sizeof(*r) + len);
	if (type == NBD_REP_ACK)
		d->stage = OPEN;
	return 1;
}

int dial_go_on(struct dial *d)
{
	socklen_t size = sizeof(int);
	int error = 0, more;
	ssize_t n;

	if (d->stage == CONNECTING) {
		getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &size);
		if (error)
			die("connect", strerror(error));
		d->stage = GREETING;
	}
	n = recv(d->fd, d->in + d->have, sizeof(d->in) - d->have, 0);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		die("handshake", n < 0 ? strerror(errno) : "hung up on");
	d->have += n;
	do {
		more = d->stage == GREETING ? use_greeting(d) : use_answer(d);
	} while (more && d->stage != OPEN);
	return d->stage == OPEN;
}
