/* SPDX-License-Identifier: BSD-3-Clause */
/* See listener.h. */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "listen-address.h"
#include "log.h"
#include "worker.h"

#define DEFAULT_ADDRESS "localhost:10809"

/* Connections accepted before the loop looks at anything else. */
#define ACCEPT_MOST 64

/* What may wait to be accepted by a listener that is closed. */
#define BACKLOG_MOST 4096

/* How long not to accept when descriptors have run out. */
#define PAUSE_MSEC 100

struct listener {
	struct listener *next;
	struct server *server;
	struct event *event, *pause;
	struct unix_socket socket; /* without a path: any other kind */
	char *text;  /* as the configuration has it; NULL: inherited */
	bool fresh;  /* of a prepared change: not accepting yet */
	bool goes;   /* ... no longer asked for */
	bool shares; /* ... others may sit beside it */
};

struct listeners {
	struct server *server;
	struct event_base *base;
	struct listener *list;
	bool begun; /* what was handed over has been taken */
};

/* -------------------------------------------------------------- accepting */

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

static void peer_text(const struct sockaddr_storage *from, char *buf,
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
	peer_text(from, a->peer, sizeof(a->peer));
	atomic_fetch_add(&s->connections, 1);
	worker_give(least_loaded(s), a);
}

/* Accept what waits, at most so many. 0; or why there was no more: EAGAIN, or
 * that something has run out. */
static int accept_some(struct listener *l, unsigned most)
{
	struct sockaddr_storage from;
	socklen_t len;
	unsigned n;
	int got;

	for (n = 0; n < most; n++) {
		len = sizeof(from);
		memset(&from, 0, sizeof(from));
		got = accept4(l->socket.fd, (struct sockaddr *)&from, &len,
			      SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (got >= 0)
			welcome(l->server, got, &from);
		else if (errno != EINTR && errno != ECONNABORTED)
			return errno;
	}
	return 0;
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval pause = {.tv_usec = PAUSE_MSEC * 1000};
	struct listener *l = arg;
	int error = accept_some(l, ACCEPT_MOST);

	(void)fd;
	(void)what;
	if (error != EMFILE && error != ENFILE && error != ENOBUFS &&
	    error != ENOMEM)
		return;
	/* Trying again at once would only burn time. */
	log_warning("cannot accept: %s; trying again in %u ms", strerror(error),
		    PAUSE_MSEC);
	event_del(l->event);
	event_add(l->pause, &pause);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	event_add(l->event, NULL);
}

/* --------------------------------------------------------------- opening */

/* Where sockets go to while they are opened. */
struct sink {
	struct listen_sink sink;
	struct listeners *l;
	const char *text;
};

static void listener_free(struct listener *l)
{
	if (l->event)
		event_free(l->event);
	if (l->pause)
		event_free(l->pause);
	unix_socket_close(&l->socket); /* which events must not outlive */
	free(l->text);
	free(l);
}

static int add(struct listen_sink *s, const struct unix_socket *u)
{
	struct sink *sink = (struct sink *)s;
	struct listeners *all = sink->l;
	struct listener *l = calloc(1, sizeof(*l));

	if (l) {
		l->socket.fd = -1;
		l->event = event_new(all->base, u->fd, EV_READ | EV_PERSIST,
				     on_accept, l);
		l->pause = event_new(all->base, -1, 0, on_pause_over, l);
		l->text = sink->text ? strdup(sink->text) : NULL;
	}
	if (!l || !l->event || !l->pause || (sink->text && !l->text)) {
		config_error(s->errors, "no memory for a listener");
		if (l)
			listener_free(l);
		return -ENOMEM;
	}
	l->server = all->server;
	l->socket = *u;
	l->fresh = true;
	l->next = all->list;
	all->list = l;
	return 0;
}

static bool address_of_listener(const struct listener *l,
				struct sockaddr_storage *at)
{
	socklen_t len = sizeof(*at);

	memset(at, 0, sizeof(*at));
	return getsockname(l->socket.fd, (struct sockaddr *)at, &len) == 0;
}

/* An address that overlaps with that of one that goes (localhost, and then all
 * addresses): both sit there for a moment, so that no client is turned away. */
static bool share(struct listen_sink *s, const struct sockaddr *address)
{
	int port = listen_address_port(address);
	struct sockaddr_storage at;
	struct listener *l;
	bool any = false;

	for (l = ((struct sink *)s)->l->list; l; l = l->next) {
		if (!l->goes || !address_of_listener(l, &at) ||
		    listen_address_port((struct sockaddr *)&at) != port)
			continue;
		listen_address_sharing(l->socket.fd, true);
		l->shares = any = true;
	}
	return any;
}

static const char *tell_address(const struct listener *l, char *buf,
				size_t size)
{
	struct sockaddr_storage at;

	if (l->socket.path) {
		snprintf(buf, size, "unix:%s", l->socket.path);
	} else if (address_of_listener(l, &at)) {
		peer_text(&at, buf, size);
	} else {
		snprintf(buf, size, "%s", l->text ? l->text : "a socket");
	}
	return buf;
}

/* What the service manager hands over, too, is only for this host, unless told
 * otherwise. */
static int check_private(const struct listener *l, bool insecure,
			 struct config_errors *errors)
{
	struct sockaddr_storage at;
	char text[160];

	if (insecure || !address_of_listener(l, &at) ||
	    listen_address_private((struct sockaddr *)&at))
		return 0;
	config_error(errors,
		     "%s%s: others than this host could read and write the "
		     "disks in clear; listen to localhost, take tls = "
		     "require, or say insecure = yes if the network is to be "
		     "trusted",
		     l->text ? l->text : tell_address(l, text, sizeof(text)),
		     l->text ? "" : ", from the service manager");
	return -EACCES;
}

/* Sockets that the service manager has opened. Returns how many. */
static int take_inherited(struct sink *sink)
{
	int n = sd_listen_fds(1), i, error, result = 0;

	for (i = 0; i < n; i++) {
		struct unix_socket u = {.fd = SD_LISTEN_FDS_START + i};

		if (sd_is_socket(u.fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
			config_error(sink->sink.errors,
				     "descriptor %d from the service manager "
				     "is no listening stream socket",
				     u.fd);
			return -EINVAL;
		}
		fcntl(u.fd, F_SETFL, fcntl(u.fd, F_GETFL) | O_NONBLOCK);
		if (add(&sink->sink, &u))
			return -ENOMEM;
		error = check_private(sink->l->list, sink->sink.insecure,
				      sink->sink.errors);
		if (error)
			result = error;
	}
	if (result)
		return result;
	return n > 0 ? n : 0;
}

/* ---------------------------------------------------------------- changing */

static bool wanted(const struct listeners *l, const struct config *config,
		   const char *text)
{
	const struct listener *one;
	bool inherited = false;
	unsigned i;

	if (!text)
		return true;
	for (i = 0; i < config->listen_count; i++) {
		if (strcmp(config->listen[i], text) == 0)
			return true;
	}
	for (one = l->list; one; one = one->next)
		inherited = inherited || !one->text;
	return config->listen_count == 0 && !inherited &&
	       strcmp(text, DEFAULT_ADDRESS) == 0;
}

static bool is_open(const struct listeners *l, const char *text)
{
	const struct listener *one;

	for (one = l->list; one; one = one->next) {
		/* A fresh one does not count: asked for twice is a mistake. */
		if (one->text && !one->fresh && strcmp(one->text, text) == 0)
			return true;
	}
	return false;
}

static int open_one(struct sink *sink, const char *text)
{
	if (is_open(sink->l, text))
		return 0;
	sink->text = text;
	return listen_address_open(&sink->sink, text);
}

/* Those that stay must be right under the new configuration too. */
static int check_staying(struct sink *sink)
{
	struct listener *l;
	int error, result = 0;

	for (l = sink->l->list; l; l = l->next) {
		if (l->goes || l->fresh)
			continue;
		error = check_private(l, sink->sink.insecure,
				      sink->sink.errors);
		if (error)
			result = error;
	}
	return result;
}

static int open_all(struct sink *sink, const struct config *config)
{
	int error, result = 0, inherited = 0;
	unsigned i;

	if (!sink->l->begun) {
		inherited = take_inherited(sink);
		if (inherited < 0)
			result = inherited;
		sink->l->begun = true;
	}
	for (i = 0; i < config->listen_count; i++) {
		error = open_one(sink, config->listen[i]);
		if (error)
			result = error;
	}
	if (!result && wanted(sink->l, config, DEFAULT_ADDRESS) &&
	    config->listen_count == 0)
		result = open_one(sink, DEFAULT_ADDRESS);
	return result;
}

int listeners_prepare(struct listeners *l, const struct config *config,
		      struct config_errors *errors)
{
	struct sink sink = {
		.sink = {.add = add,
			 .share = share,
			 .errors = errors,
			 .insecure = config->insecure ||
				     config->tls == CONFIG_TLS_REQUIRE},
		.l = l,
	};
	struct listener *one;
	int error, result;

	for (one = l->list; one; one = one->next)
		one->goes = !wanted(l, config, one->text);
	result = check_staying(&sink);
	error = open_all(&sink, config);
	if (error)
		result = error;
	if (result)
		listeners_undo(l);
	return result;
}

/* Close those that are `fresh`, or those that go. */
static void drop(struct listeners *all, bool fresh)
{
	struct listener **at = &all->list, *l;

	while ((l = *at)) {
		if (!(fresh ? l->fresh : l->goes)) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		listener_free(l);
	}
}

void listeners_undo(struct listeners *all)
{
	struct listener *l;

	drop(all, true);
	for (l = all->list; l; l = l->next) {
		if (l->shares)
			listen_address_sharing(l->socket.fd, false);
		l->goes = l->shares = false;
	}
}

void listeners_commit(struct listeners *all,
		      void (*tell)(void *arg, const char *address, bool opened),
		      void *arg)
{
	char text[160];
	struct listener *l;

	for (l = all->list; l; l = l->next) {
		if (!l->fresh && !l->goes)
			continue;
		tell_address(l, text, sizeof(text));
		if (tell)
			tell(arg, text, l->fresh);
		else
			log_info("listening to %s", text);
	}
	/* Who has come by one that goes is let in. */
	for (l = all->list; l; l = l->next) {
		if (l->goes)
			accept_some(l, BACKLOG_MOST);
	}
	drop(all, false);
	for (l = all->list; l; l = l->next) {
		if (!l->fresh)
			continue;
		if (!l->socket.path)
			listen_address_sharing(l->socket.fd, false);
		event_add(l->event, NULL);
		l->fresh = false;
	}
}

/* ------------------------------------------------------------ begin, end */

struct listeners *listeners_new(struct server *server, struct event_base *base)
{
	struct listeners *l = calloc(1, sizeof(*l));

	if (l) {
		l->server = server;
		l->base = base;
	}
	return l;
}

void listeners_close(struct listeners *all)
{
	struct listener *l;

	if (!all)
		return;
	for (l = all->list; l; l = l->next)
		l->goes = true;
	drop(all, false);
	free(all);
}
