/* SPDX-License-Identifier: BSD-3-Clause */
/* See handover.h.
 *
 * The message is text, each field with a zero behind it: a first line that tells
 * the form, then for each descriptor its kind and four fields. An empty field is
 * none. */
#include "handover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FORM "nbdram-handover-1"

/* Of text in a message: paths are short, addresses too. */
#define TEXT_MOST (UINT32_C(1) << 17)

union control {
	char bytes[CMSG_SPACE(HANDOVER_MOST * sizeof(int))];
	struct cmsghdr align;
};

/* ------------------------------------------------------------ what is in it */

void handover_init(struct handover *h)
{
	memset(h, 0, sizeof(*h));
	h->control.fd = h->pool = -1;
}

static void drop_socket(struct unix_socket *socket)
{
	socket->inode = 0; /* the file is not ours to remove */
	unix_socket_close(socket);
}

void handover_free(struct handover *h)
{
	unsigned i;

	for (i = 0; i < h->count; i++) {
		drop_socket(&h->listeners[i].socket);
		free(h->listeners[i].text);
	}
	free(h->listeners);
	drop_socket(&h->control);
	if (h->pool >= 0)
		close(h->pool);
	free(h->pool_path);
	handover_init(h);
}

int handover_copy(struct unix_socket *to, const struct unix_socket *from)
{
	*to = *from;
	to->path = from->path ? strdup(from->path) : NULL;
	if (from->path && !to->path)
		return -ENOMEM;
	to->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
	if (to->fd >= 0)
		return 0;
	free(to->path);
	*to = (struct unix_socket){.fd = -1};
	return -errno;
}

int handover_add(struct handover *h, const struct unix_socket *socket,
		 const char *text)
{
	struct handed_socket *list, *last;
	int error;

	list = realloc(h->listeners, (h->count + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	h->listeners = list;
	last = &list[h->count];
	last->text = text ? strdup(text) : NULL;
	if (text && !last->text)
		return -ENOMEM;
	error = handover_copy(&last->socket, socket);
	if (error)
		free(last->text);
	else
		h->count++;
	return error;
}

int handover_control(struct handover *h, const struct unix_socket *socket)
{
	return handover_copy(&h->control, socket);
}

int handover_pool(struct handover *h, int pool, const char *path)
{
	h->pool_path = path ? strdup(path) : NULL;
	if (path && !h->pool_path)
		return -ENOMEM;
	h->pool = fcntl(pool, F_DUPFD_CLOEXEC, 0);
	return h->pool < 0 ? -errno : 0;
}

void handover_forget_control(struct handover *h, const char *path)
{
	if (h->control.path && strcmp(h->control.path, path) != 0)
		unix_socket_close(&h->control);
}

/* ------------------------------------------------------------------ sending */

struct message {
	char *text;
	size_t len;
	int fd[HANDOVER_MOST];
	unsigned fds;
};

static void put_one(FILE *to, struct message *m, const char *kind,
		    const struct unix_socket *socket, const char *text)
{
	fprintf(to, "%s%c%s%c%s%c%" PRIuMAX "%c%" PRIuMAX "%c", kind, 0,
		text ? text : "", 0, socket->path ? socket->path : "", 0,
		(uintmax_t)socket->device, 0, (uintmax_t)socket->inode, 0);
	m->fd[m->fds++] = socket->fd;
}

static int put_all(const struct handover *h, struct message *m)
{
	struct unix_socket pool = {.fd = h->pool, .path = h->pool_path};
	FILE *to = open_memstream(&m->text, &m->len);
	unsigned i;

	if (!to)
		return -ENOMEM;
	fprintf(to, "%s%c", FORM, 0);
	for (i = 0; i < h->count; i++)
		put_one(to, m, "listener", &h->listeners[i].socket,
			h->listeners[i].text);
	if (h->control.fd >= 0)
		put_one(to, m, "control", &h->control, NULL);
	put_one(to, m, "pool", &pool, NULL);
	if (fclose(to))
		return -ENOMEM;
	return m->len > TEXT_MOST ? -E2BIG : 0;
}

static int send_message(const struct message *m, int fd)
{
	struct iovec text = {m->text, m->len};
	union control control;
	struct msghdr header = {
		.msg_iov = &text,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(m->fds * sizeof(int)),
	};
	struct cmsghdr *c;

	memset(&control, 0, sizeof(control));
	c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(m->fds * sizeof(int));
	memcpy(CMSG_DATA(c), m->fd, m->fds * sizeof(int));
	return sendmsg(fd, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int handover_send(const struct handover *h, int fd)
{
	struct message m = {0};
	int error;

	if (h->count + 2 > HANDOVER_MOST)
		return -E2BIG;
	error = put_all(h, &m);
	if (!error)
		error = send_message(&m, fd);
	free(m.text);
	return error;
}

/* ---------------------------------------------------------------- receiving */

/* Descriptors of a message, all of which are closed when it is no good. */
static unsigned take_descriptors(struct msghdr *header, int *fd)
{
	struct cmsghdr *c;
	unsigned fds = 0;

	for (c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fd, CMSG_DATA(c), fds * sizeof(int));
	}
	return fds;
}

static int receive_message(struct message *m, int fd)
{
	struct iovec text = {NULL, TEXT_MOST};
	union control control;
	struct msghdr header = {
		.msg_iov = &text,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t got;

	m->text = text.iov_base = malloc(TEXT_MOST);
	if (!m->text)
		return -ENOMEM;
	got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -errno;
	m->len = got;
	m->fds = take_descriptors(&header, m->fd);
	/* All fields end, so that each can be read as a string. */
	if (got == 0 || m->text[got - 1] != 0 ||
	    header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EPROTO;
	return 0;
}

/* The next field; NULL: there is none. */
static const char *field(const struct message *m, size_t *at)
{
	const char *text = m->text + *at;

	if (*at >= m->len)
		return NULL;
	*at += strlen(text) + 1;
	return text;
}

/* Numbers are as we have written them, or none that fits any file. */
static int take_one(struct handover *h, const struct message *m, size_t *at,
		    const char *kind, int fd)
{
	const char *text = field(m, at), *path = field(m, at);
	const char *device = field(m, at), *inode = field(m, at);
	struct unix_socket socket = {.fd = fd};

	if (!inode)
		return -EPROTO;
	socket.path = *path ? (char *)path : NULL;
	socket.device = strtoumax(device, NULL, 10);
	socket.inode = strtoumax(inode, NULL, 10);
	if (strcmp(kind, "listener") == 0)
		return handover_add(h, &socket, *text ? text : NULL);
	if (strcmp(kind, "control") == 0 && h->control.fd < 0)
		return handover_control(h, &socket);
	if (strcmp(kind, "pool") == 0 && h->pool < 0)
		return handover_pool(h, fd, socket.path);
	return -EPROTO;
}

static int take_all(struct handover *h, const struct message *m)
{
	size_t at = 0;
	const char *kind = field(m, &at);
	unsigned n = 0;
	int error = kind && strcmp(kind, FORM) == 0 ? 0 : -EPROTO;

	while (!error && (kind = field(m, &at))) {
		error = n < m->fds ? take_one(h, m, &at, kind, m->fd[n])
				   : -EPROTO;
		n++;
	}
	if (!error && (n != m->fds || h->pool < 0))
		error = -EPROTO;
	return error;
}

int handover_receive(struct handover *h, int fd)
{
	struct message m = {0};
	unsigned i;
	int error;

	handover_init(h);
	error = receive_message(&m, fd);
	if (!error)
		error = take_all(h, &m);
	if (error)
		handover_free(h);
	/* What is in there are copies. */
	for (i = 0; i < m.fds; i++)
		close(m.fd[i]);
	free(m.text);
	return error;
}
