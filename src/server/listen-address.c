/* SPDX-License-Identifier: BSD-3-Clause */
/* See listen-address.h. */
#include "listen-address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PORT "10809"

void listen_sink_init(struct listen_sink *sink, const struct config *config,
		      struct config_errors *errors)
{
	sink->errors = errors;
	sink->insecure = config->insecure || config->tls == CONFIG_TLS_REQUIRE;
	if (config->listen_where)
		snprintf(sink->where, sizeof(sink->where),
			 "%s: ", config->listen_where);
	else
		*sink->where = 0;
}

int listen_address_public(struct config_errors *errors, const char *where,
			  const char *text)
{
	config_error(errors,
		     "%s%s: others than this host could read and write the "
		     "disks in clear; listen to localhost, take tls = "
		     "require, or say %s if the network is to be trusted",
		     where, text, *where ? "insecure = yes" : "--insecure");
	return -EACCES;
}

bool listen_address_private(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return true;
}

int listen_address_port(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)address)->sin_port);
	if (address->sa_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
	return -1;
}

void listen_address_sharing(int fd, bool yes)
{
	const int value = yes;

	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &value, sizeof(value));
}

/* --------------------------------------------------------------------- TCP */

static int bind_tcp(int fd, const struct addrinfo *a)
{
	return bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, 4096) < 0
		       ? -errno
		       : 0;
}

static int new_tcp(struct listen_sink *sink, const struct addrinfo *a, int *fd)
{
	const int yes = 1;
	int error;

	*fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		     0);
	if (*fd < 0)
		return -EADDRNOTAVAIL; /* no IPv6 here, say */
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (a->ai_family == AF_INET6)
		setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	error = bind_tcp(*fd, a);
	if (error == -EADDRINUSE && sink->share(sink, a->ai_addr)) {
		listen_address_sharing(*fd, true);
		error = bind_tcp(*fd, a);
	}
	if (error)
		close(*fd);
	return error;
}

/* One address of a name. 1: not for us; negative: told. */
static int open_tcp(struct listen_sink *sink, const struct addrinfo *a,
		    const char *text)
{
	struct unix_socket u = {.fd = -1};
	int error;

	if (!listen_address_private(a->ai_addr) && !sink->insecure)
		return listen_address_public(sink->errors, sink->where, text);
	error = new_tcp(sink, a, &u.fd);
	if (error == -EADDRNOTAVAIL)
		return 1;
	if (error) {
		config_error(sink->errors, "%s%s: cannot listen: %s%s%s",
			     sink->where, text, strerror(-error),
			     error == -EADDRINUSE
				     ? " by another program; stop it or take "
				       "another port"
				     : "",
			     error == -EADDRINUSE && !*sink->where ? " (-l)"
								   : "");
		return error;
	}
	error = sink->add(sink, &u);
	if (error)
		close(u.fd);
	return error;
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

/* All addresses of a name, for freeaddrinfo(). NULL: told. */
static struct addrinfo *resolve(struct listen_sink *sink, const char *text)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	};
	struct addrinfo *found = NULL;
	const char *port;
	char host[256];
	int error;

	if (split(text, host, sizeof(host), &port)) {
		config_error(sink->errors,
			     "%s%s: no address; HOST:PORT, [IPV6]:PORT, :PORT "
			     "and unix:PATH are",
			     sink->where, text);
		return NULL;
	}
	error = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (!error)
		return found;
	config_error(sink->errors, "%s%s: no such address: %s", sink->where,
		     text, gai_strerror(error));
	return NULL;
}

static int open_name(struct listen_sink *sink, const char *text)
{
	struct addrinfo *found = resolve(sink, text), *a;
	int opened = 0, result = 0;

	if (!found)
		return -EINVAL;
	for (a = found; a && result >= 0; a = a->ai_next) {
		result = open_tcp(sink, a, text);
		opened += result == 0;
	}
	freeaddrinfo(found);
	if (result >= 0 && opened == 0) {
		config_error(sink->errors,
			     "%s%s: this host has no such address; take one "
			     "that it has",
			     sink->where, text);
		return -EADDRNOTAVAIL;
	}
	return result < 0 ? result : 0;
}

/* -------------------------------------------------------------------- all */

int listen_address_open(struct listen_sink *sink, const char *text)
{
	struct unix_socket u;
	struct ram_why why;
	int error;

	if (strncmp(text, "unix:", 5) != 0)
		return open_name(sink, text);
	error = unix_socket_listen(&u, text + 5, 0, &why);
	if (error) {
		config_error(sink->errors, "%s%s", sink->where, why.text);
		return error;
	}
	error = sink->add(sink, &u);
	if (error)
		unix_socket_close(&u);
	return error;
}

int listen_address_check(struct listen_sink *sink, const char *text)
{
	struct addrinfo *found, *a;
	struct ram_why why;
	int result = 0;

	if (strncmp(text, "unix:", 5) == 0) {
		result = unix_socket_look(text + 5, &why);
		if (result)
			config_error(sink->errors, "%s%s", sink->where,
				     why.text);
		return result;
	}
	found = resolve(sink, text);
	if (!found)
		return -EINVAL;
	for (a = found; a && !result; a = a->ai_next) {
		if (!listen_address_private(a->ai_addr) && !sink->insecure)
			result = listen_address_public(sink->errors,
						       sink->where, text);
	}
	freeaddrinfo(found);
	return result;
}
