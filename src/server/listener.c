/* SPDX-License-Identifier: BSD-3-Clause */
/* See listener.h. */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "log.h"
#include "worker.h"

#define DEFAULT_ADDRESS "localhost:10809"
#define DEFAULT_PORT "10809"

/* Connections accepted before the loop looks at anything else. */
#define ACCEPT_MOST 64

/* How long not to accept when descriptors have run out. */
#define PAUSE_MSEC 100

struct listener {
	struct listener *next;
	struct server *server;
	struct event *event, *pause;
	int fd;
	char *path; /* of a Unix socket of ours */
	dev_t device;
	ino_t inode; /* of that file, as we made it */
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

	if (atomic_load(&s->connections) >= s->config->max_connections) {
		log_warning("%u connections are open, the most there may be; "
			    "one more is turned away (max-connections)",
			    atomic_load(&s->connections));
		close(fd);
		return;
	}
	if (!addresses_enter(&s->addresses, &address,
			     s->config->max_per_address)) {
		log_warning("%u connections are open from one address, the "
			    "most there may be; one more is turned away "
			    "(max-per-address)",
			    s->config->max_per_address);
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

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval pause = {.tv_usec = PAUSE_MSEC * 1000};
	struct listener *l = arg;
	struct sockaddr_storage from;
	socklen_t len;
	int got, n;

	(void)what;
	for (n = 0; n < ACCEPT_MOST; n++) {
		len = sizeof(from);
		memset(&from, 0, sizeof(from));
		got = accept4(fd, (struct sockaddr *)&from, &len,
			      SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (got >= 0) {
			welcome(l->server, got, &from);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM) {
			/* Trying again at once would only burn time. */
			log_warning("cannot accept: %s; trying again in %u ms",
				    strerror(errno), PAUSE_MSEC);
			event_del(l->event);
			event_add(l->pause, &pause);
			return;
		}
		if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	event_add(l->event, NULL);
}

/* --------------------------------------------------------------- opening */

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return true;
}

static struct listener *add(struct listener **list, struct server *s,
			    struct event_base *base, int fd)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l) {
		l->event =
			event_new(base, fd, EV_READ | EV_PERSIST, on_accept, l);
		l->pause = event_new(base, -1, 0, on_pause_over, l);
	}
	if (!l || !l->event || !l->pause) {
		log_error("no memory for a listener");
		close(fd);
		if (l && l->event)
			event_free(l->event);
		free(l);
		return NULL;
	}
	l->server = s;
	l->fd = fd;
	l->next = *list;
	*list = l;
	return l;
}

/* One address of a name. 1: not for us; negative: told. */
static int open_tcp(struct listener **list, struct server *s,
		    struct event_base *base, const struct addrinfo *a,
		    const char *text)
{
	const int yes = 1;
	int fd;

	if (!is_loopback(a->ai_addr) && !s->config->insecure) {
		log_error("%s: others than this host could read and write the "
			  "disks in clear; listen to localhost, or say "
			  "--insecure if the network is to be trusted",
			  text);
		return -EACCES;
	}
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return 1; /* no IPv6 here, say */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, 4096) < 0) {
		int error = errno;

		close(fd);
		if (error == EADDRNOTAVAIL)
			return 1;
		log_error("%s: cannot listen: %s%s", text, strerror(error),
			  error == EADDRINUSE ? " by another program; stop it "
						"or take another port (-l)"
					      : "");
		return -error;
	}
	return add(list, s, base, fd) ? 0 : -ENOMEM;
}

/* A number up to 65535 (the resolver would wrap a larger one), or a name. */
static bool port_good(const char *port)
{
	if (!*port)
		return false;
	if (strspn(port, "0123456789") != strlen(port))
		return true;
	return strlen(port) <= 5 && atoi(port) <= 65535;
}

/* "HOST:PORT", "[V6]:PORT", ":PORT", "HOST". */
static int split(const char *text, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(text, ':'), *begin = text, *end;

	*port = DEFAULT_PORT;
	if (*text == '[') {
		begin = text + 1;
		end = strchr(begin, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		if (end[1] == ':')
			*port = end + 2;
	} else if (colon) {
		end = colon;
		*port = colon + 1;
	} else {
		end = text + strlen(text);
	}
	if ((size_t)(end - begin) >= size || !port_good(*port))
		return -EINVAL;
	memcpy(host, begin, end - begin);
	host[end - begin] = 0;
	return 0;
}

static int open_name(struct listener **list, struct server *s,
		     struct event_base *base, const char *text)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	};
	struct addrinfo *found = NULL, *a;
	const char *port;
	char host[256];
	int error, opened = 0, result = 0;

	if (split(text, host, sizeof(host), &port)) {
		log_error("%s: no address; HOST:PORT, [IPV6]:PORT, :PORT and "
			  "unix:PATH are",
			  text);
		return -EINVAL;
	}
	error = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (error) {
		log_error("%s: no such address: %s", text, gai_strerror(error));
		return -EINVAL;
	}
	for (a = found; a && result >= 0; a = a->ai_next) {
		result = open_tcp(list, s, base, a, text);
		opened += result == 0;
	}
	freeaddrinfo(found);
	if (result >= 0 && opened == 0) {
		log_error("%s: this host has no such address", text);
		return -EADDRNOTAVAIL;
	}
	return result < 0 ? result : 0;
}

/* Whether somebody answers there. */
static bool alive(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int result = fd < 0 ? -1
			    : connect(fd, (const struct sockaddr *)address,
				      sizeof(*address));
	bool refused = result < 0 && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return !refused;
}

/* What lies at the path may be the socket of one that died; nothing else is
 * touched. */
static int clear_path(const struct sockaddr_un *address, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		log_error("unix:%s: cannot be looked at: %s", path,
			  strerror(errno));
		return -EACCES;
	}
	if (!S_ISSOCK(st.st_mode)) {
		log_error("unix:%s: is something else than a socket; move it "
			  "away or take another path",
			  path);
		return -EEXIST;
	}
	if (alive(address)) {
		log_error("unix:%s: another program listens there; stop it or "
			  "take another path",
			  path);
		return -EADDRINUSE;
	}
	if (unlink(path) < 0 && errno != ENOENT) {
		log_error("unix:%s: nobody listens there, but the socket "
			  "cannot be removed: %s",
			  path, strerror(errno));
		return -EACCES;
	}
	return 0;
}

static int open_unix(struct listener **list, struct server *s,
		     struct event_base *base, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct listener *l;
	struct stat st;
	int fd, error;

	if (!*path || strlen(path) >= sizeof(address.sun_path)) {
		log_error("unix:%s: a socket's path has 1 to %zu bytes", path,
			  sizeof(address.sun_path) - 1);
		return -EINVAL;
	}
	strcpy(address.sun_path, path);
	error = clear_path(&address, path);
	if (error)
		return error;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 4096) < 0) {
		error = errno;
		log_error("unix:%s: cannot listen: %s", path, strerror(error));
		if (fd >= 0)
			close(fd);
		return -error;
	}
	l = add(list, s, base, fd);
	if (!l)
		return -ENOMEM;
	l->path = strdup(path);
	if (lstat(path, &st) == 0) {
		l->device = st.st_dev;
		l->inode = st.st_ino;
	}
	return 0;
}

/* Sockets that the service manager has opened. Returns how many. */
static int take_inherited(struct listener **list, struct server *s,
			  struct event_base *base)
{
	int n = sd_listen_fds(1), i, fd;

	for (i = 0; i < n; i++) {
		fd = SD_LISTEN_FDS_START + i;
		if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
			log_error("descriptor %d from the service manager is "
				  "no listening stream socket",
				  fd);
			return -EINVAL;
		}
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		if (!add(list, s, base, fd))
			return -ENOMEM;
	}
	return n > 0 ? n : 0;
}

static int open_one(struct listener **list, struct server *s,
		    struct event_base *base, const char *text)
{
	return strncmp(text, "unix:", 5) == 0
		       ? open_unix(list, s, base, text + 5)
		       : open_name(list, s, base, text);
}

struct listener *listeners_open(struct server *s, struct event_base *base)
{
	const struct config *o = s->config;
	struct listener *list = NULL;
	int error = 0, inherited;
	unsigned i;

	inherited = take_inherited(&list, s, base);
	if (inherited < 0)
		error = inherited;
	for (i = 0; i < o->listen_count; i++) {
		int result = open_one(&list, s, base, o->listen[i]);

		if (result)
			error = result;
	}
	if (!error && o->listen_count == 0 && inherited == 0)
		error = open_one(&list, s, base, DEFAULT_ADDRESS);
	if (error) {
		listeners_close(list);
		return NULL;
	}
	return list;
}

static void tell_address(const struct listener *l)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char text[80];

	if (l->path) {
		log_info("listening to unix:%s", l->path);
		return;
	}
	memset(&at, 0, sizeof(at));
	if (getsockname(l->fd, (struct sockaddr *)&at, &len) == 0) {
		peer_text(&at, text, sizeof(text));
		log_info("listening to %s", text);
	}
}

void listeners_start(struct listener *l)
{
	for (; l; l = l->next) {
		event_add(l->event, NULL);
		tell_address(l);
	}
}

void listeners_close(struct listener *l)
{
	struct listener *next;
	struct stat st;

	for (; l; l = next) {
		next = l->next;
		event_free(l->event);
		event_free(l->pause);
		/* Only the file that we made: another may have taken its
		 * place. */
		if (l->path && lstat(l->path, &st) == 0 &&
		    st.st_dev == l->device && st.st_ino == l->inode)
			unlink(l->path);
		close(l->fd);
		free(l->path);
		free(l);
	}
}
