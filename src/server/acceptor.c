/* SPDX-License-Identifier: BSD-3-Clause */
/* See acceptor.h. */
#include "acceptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "worker.h"

/* Connections accepted before the loop looks at anything else. */
#define ACCEPT_MOST 64

/* How long not to accept when descriptors have run out. */
#define PAUSE_MSEC 100

static struct address address_of(const struct sockaddr_storage *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	struct address a = {{0}};

	if (from->ss_family == AF_INET) {
		a.byte[10] = a.byte[11] = 0xff;
		memcpy(&a.byte[12], &v4->sin_addr, 4);
	} else if (from->ss_family == AF_INET6) {
		memcpy(a.byte, &v6->sin6_addr, 16);
	}
	return a;
}

void acceptor_peer_text(const struct sockaddr_storage *from, char *buf,
			size_t size)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	char text[INET6_ADDRSTRLEN];

	if (from->ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		snprintf(buf, size, "%s:%u", text, ntohs(v4->sin_port));
	} else if (from->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(buf, size, "[%s]:%u", text, ntohs(v6->sin6_port));
	} else {
		snprintf(buf, size, "unix");
	}
}

static struct worker *least_loaded(struct server *s)
{
	unsigned i, best = 0;

	for (i = 1; i < s->worker_count; i++) {
		if (atomic_load(&s->workers[i].load) <
		    atomic_load(&s->workers[best].load))
			best = i;
	}
	return &s->workers[best];
}

static void welcome(struct server *s, int fd,
		    const struct sockaddr_storage *from)
{
	struct address address = address_of(from);
	struct arrival *a;

	if (atomic_load(&s->connections) >= s->max_connections) {
		log_warning("%u connections are open, the most there may be; "
			    "one more is turned away (max-connections)",
			    atomic_load(&s->connections));
		stats_add(&s->stats, STAT_TURNED_AWAY, 1);
		close(fd);
		return;
	}
	if (!addresses_enter(&s->addresses, &address,
			     s->config->max_per_address)) {
		log_warning("%u connections are open from one address, the "
			    "most there may be; one more is turned away "
			    "(max-per-address)",
			    s->config->max_per_address);
		stats_add(&s->stats, STAT_TURNED_AWAY, 1);
		close(fd);
		return;
	}
	a = calloc(1, sizeof(*a));
	if (!a) {
		log_error("no memory for a connection");
		addresses_leave(&s->addresses, &address);
		close(fd);
		return;
	}
	a->fd = fd;
	a->address = address;
	a->id = atomic_fetch_add(&s->last_id, 1) + 1;
	a->local = from->ss_family == AF_UNIX;
	acceptor_peer_text(from, a->peer, sizeof(a->peer));
	atomic_fetch_add(&s->connections, 1);
	worker_give(least_loaded(s), a);
}

int acceptor_take(struct acceptor *a, unsigned most)
{
	struct sockaddr_storage from;
	socklen_t len;
	unsigned n;
	int got;

	for (n = 0; n < most; n++) {
		len = sizeof(from);
		memset(&from, 0, sizeof(from));
		got = accept4(a->fd, (struct sockaddr *)&from, &len,
			      SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (got >= 0)
			welcome(a->server, got, &from);
		else if (errno != EINTR && errno != ECONNABORTED)
			return errno;
	}
	return 0;
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval pause = {.tv_usec = PAUSE_MSEC * 1000};
	struct acceptor *a = arg;
	int error = acceptor_take(a, ACCEPT_MOST);

	(void)fd;
	(void)what;
	if (error != EMFILE && error != ENFILE && error != ENOBUFS &&
	    error != ENOMEM)
		return;
	/* Trying again at once would only burn time. */
	log_warning("cannot accept: %s; trying again in %u ms", strerror(error),
		    PAUSE_MSEC);
	event_del(a->event);
	event_add(a->pause, &pause);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct acceptor *a = arg;

	(void)fd;
	(void)what;
	event_add(a->event, NULL);
}

int acceptor_init(struct acceptor *a, struct server *server,
		  struct event_base *base, int fd)
{
	a->server = server;
	a->fd = fd;
	a->event = event_new(base, fd, EV_READ | EV_PERSIST, on_accept, a);
	a->pause = event_new(base, -1, 0, on_pause_over, a);
	return a->event && a->pause ? 0 : -ENOMEM;
}

void acceptor_start(struct acceptor *a)
{
	event_add(a->event, NULL);
}

void acceptor_end(struct acceptor *a)
{
	if (a->event)
		event_free(a->event);
	if (a->pause)
		event_free(a->pause);
	a->event = a->pause = NULL;
}
