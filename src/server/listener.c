/* SPDX-License-Identifier: BSD-3-Clause */
/* See listener.h. */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "acceptor.h"
#include "handover.h"
#include "listen-address.h"
#include "log.h"

#define DEFAULT_ADDRESS "localhost:10809"

/* What may wait to be accepted by a listener that is closed. */
#define BACKLOG_MOST 4096

struct listener {
	struct listener *next;
	struct acceptor acceptor;
	struct unix_socket socket; /* without a path: any other kind */
	char *text;  /* as the configuration has it; NULL: inherited */
	bool fresh;  /* of a prepared change: not accepting yet */
	bool goes;   /* ... no longer asked for */
	bool shares; /* ... others may sit beside it */
	bool idle;   /* from another who had it: not accepting yet */
	bool kept;   /* its file is not ours to remove */
};

struct listeners {
	struct server *server;
	struct event_base *base;
	struct listener *list;
	bool begun;	  /* what was handed over has been taken */
	unsigned changes; /* how often they have become others */
};

/* --------------------------------------------------------------- opening */

/* Where sockets go to while they are opened. */
struct sink {
	struct listen_sink sink;
	struct listeners *l;
	const char *text;
};

static void listener_free(struct listener *l)
{
	acceptor_end(&l->acceptor);
	if (l->kept)
		l->socket.inode = 0;
	unix_socket_close(&l->socket);
	free(l->text);
	free(l);
}

static int add(struct listen_sink *s, const struct unix_socket *u)
{
	struct sink *sink = (struct sink *)s;
	struct listeners *all = sink->l;
	struct listener *l = calloc(1, sizeof(*l));
	int error = -ENOMEM;

	if (l) {
		l->socket.fd = -1;
		l->text = sink->text ? strdup(sink->text) : NULL;
		error = acceptor_init(&l->acceptor, all->server, all->base,
				      u->fd);
	}
	if (error || (sink->text && !l->text)) {
		config_error(s->errors, "no memory for a listener");
		if (l)
			listener_free(l);
		return -ENOMEM;
	}
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
		acceptor_peer_text(&at, buf, size);
	} else {
		snprintf(buf, size, "%s", l->text ? l->text : "a socket");
	}
	return buf;
}

/* What the service manager hands over, too, is only for this host, unless told
 * otherwise. */
static int check_private(const struct listener *l, const struct listen_sink *s)
{
	struct sockaddr_storage at;
	char text[160], name[200];

	if (s->insecure || !address_of_listener(l, &at) ||
	    listen_address_private((struct sockaddr *)&at))
		return 0;
	if (!l->text) {
		snprintf(name, sizeof(name), "%s, from the service manager",
			 tell_address(l, text, sizeof(text)));
		return listen_address_public(s->errors, "", name);
	}
	return listen_address_public(s->errors, s->where, l->text);
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
		error = check_private(sink->l->list, &sink->sink);
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

/* Another socket of the same name (localhost has two) has been told of. */
static bool told(const struct listeners *all, const struct listener *l)
{
	const struct listener *one;

	for (one = all->list; l->text && one != l; one = one->next) {
		if (!one->goes && one->text && strcmp(one->text, l->text) == 0)
			return true;
	}
	return false;
}

/* Those that stay must be right under the new configuration too. */
static int check_staying(struct sink *sink)
{
	struct listener *l;
	int error, result = 0;

	for (l = sink->l->list; l; l = l->next) {
		if (l->goes || l->fresh || (result && told(sink->l, l)))
			continue;
		error = check_private(l, &sink->sink);
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
		.sink = {.add = add, .share = share},
		.l = l,
	};
	struct listener *one;
	int error, result;

	listen_sink_init(&sink.sink, config, errors);
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
		if (!l->fresh && !l->goes && !l->idle)
			continue;
		all->changes++;
		tell_address(l, text, sizeof(text));
		if (tell)
			tell(arg, text, l->fresh);
		else
			log_info("%s to %s",
				 l->goes ? "no longer listening" : "listening",
				 text);
	}
	/* Who has come by one that goes is let in. */
	for (l = all->list; l; l = l->next) {
		if (l->goes)
			acceptor_take(&l->acceptor, BACKLOG_MOST);
	}
	for (l = all->list; l; l = l->next)
		l->kept = false;
	drop(all, false);
	for (l = all->list; l; l = l->next) {
		if (!l->fresh && !l->idle)
			continue;
		if (!l->socket.path)
			listen_address_sharing(l->socket.fd, false);
		acceptor_start(&l->acceptor);
		l->fresh = l->idle = false;
	}
}

/* --------------------------------------------- to and from another process */

int listeners_hand_over(const struct listeners *all, struct handover *h)
{
	const struct listener *l;
	int error = 0;

	for (l = all->list; l && !error; l = l->next)
		error = handover_add(h, &l->socket, l->text);
	return error;
}

unsigned listeners_changes(const struct listeners *all)
{
	return all->changes;
}

void listeners_keep_files(struct listeners *all)
{
	struct listener *l;

	for (l = all->list; l; l = l->next)
		l->kept = true;
}

static int adopt(struct sink *sink, const struct unix_socket *socket)
{
	struct unix_socket copy;
	int error;

	if (sd_is_socket(socket->fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
		return -EPROTO;
	error = handover_copy(&copy, socket);
	if (error)
		return error;
	error = add(&sink->sink, &copy);
	if (error) {
		close(copy.fd);
		free(copy.path);
		return error;
	}
	/* The list's first is the new one. */
	sink->l->list->fresh = false;
	sink->l->list->idle = sink->l->list->kept = true;
	return 0;
}

int listeners_adopt(struct listeners *all, const struct handover *h,
		    struct config_errors *errors)
{
	struct sink sink = {.sink = {.errors = errors}, .l = all};
	unsigned i;
	int error;

	for (i = h->count; i-- > 0;) {
		sink.text = h->listeners[i].text;
		error = adopt(&sink, &h->listeners[i].socket);
		if (error) {
			config_error(errors,
				     "a socket that was handed over cannot be "
				     "used: %s",
				     strerror(-error));
			return error;
		}
	}
	all->begun = true;
	return 0;
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
