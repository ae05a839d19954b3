/* SPDX-License-Identifier: BSD-3-Clause */
/* See target.h. */
#include "target.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "ktls.h"
#include "log.h"
#include "target-private.h"

/* More addresses than any name has in earnest. */
#define ADDRESSES_MOST 32u

static int no_memory(struct attach_why *why)
{
	return attach_fail(why, -ENOMEM, "no memory for a connection");
}

static void make_name(struct attach_target *t)
{
	const struct attach_uri *u = &t->uri;
	char where[150], export[90];

	if (u->socket) {
		log_escape(u->socket, strlen(u->socket), where, sizeof(where));
		log_escape(u->export, strlen(u->export), export,
			   sizeof(export));
		snprintf(t->name, sizeof(t->name), "unix:%s/%s", where, export);
		return;
	}
	log_escape(u->host, strlen(u->host), where, sizeof(where));
	log_escape(u->export, strlen(u->export), export, sizeof(export));
	snprintf(t->name, sizeof(t->name),
		 strchr(u->host, ':') ? "[%s]:%s/%s" : "%s:%s/%s", where,
		 u->port, export);
}

/* --------------------------------------------------------------- addresses */

static int use_socket(struct attach_target *t, struct attach_why *why)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (strlen(t->uri.socket) >= sizeof(un.sun_path))
		return attach_fail(why, -EINVAL,
				   "%s: a socket's path has at most %zu bytes",
				   t->name, sizeof(un.sun_path) - 1);
	strcpy(un.sun_path, t->uri.socket);
	t->addresses = calloc(1, sizeof(*t->addresses));
	if (!t->addresses)
		return no_memory(why);
	memcpy(&t->addresses->address, &un, sizeof(un));
	t->addresses->len = sizeof(un);
	t->count = 1;
	return 0;
}

static int resolve_failed(const struct attach_target *t, int found,
			  struct attach_why *why)
{
	switch (found) {
	case EAI_MEMORY:
		return no_memory(why);
	case EAI_AGAIN:
		return attach_fail(why, -EAGAIN,
				   "%s: the host's name cannot be looked up: "
				   "no name server answers; is the network up?",
				   t->name);
	case EAI_SYSTEM:
		return attach_fail(why, -errno,
				   "%s: the host's name cannot be looked up: "
				   "%s",
				   t->name, strerror(errno));
	}
	return attach_fail(why, -ENOENT, "%s: there is no such host: %s",
			   t->name, gai_strerror(found));
}

static int resolve(struct attach_target *t, struct attach_why *why)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV,
	};
	struct addrinfo *list = NULL, *a;
	int found = getaddrinfo(t->uri.host, t->uri.port, &hints, &list);

	if (found)
		return resolve_failed(t, found, why);
	t->addresses = calloc(ADDRESSES_MOST, sizeof(*t->addresses));
	for (a = list; t->addresses && a && t->count < ADDRESSES_MOST;
	     a = a->ai_next) {
		struct attach_address *to = &t->addresses[t->count];

		if (a->ai_addrlen > sizeof(to->address))
			continue;
		memcpy(&to->address, a->ai_addr, a->ai_addrlen);
		to->len = a->ai_addrlen;
		t->count++;
	}
	freeaddrinfo(list);
	return t->addresses ? 0 : no_memory(why);
}

/* --------------------------------------------------------------------- TLS */

/* The first one that makes loading fail. */
static void fault(void *arg, bool warning, const char *text)
{
	struct attach_why *why = arg;

	if (!warning && !*why->text)
		attach_fail(why, 0, "%s", text);
}

static int load_tls(struct attach_target *t, struct attach_why *why)
{
	const struct attach_uri *u = &t->uri;
	const struct io_tls_client_config config = {
		.dir = u->certificates,
		.psk_file = u->psk_file,
		.user = u->user,
		.verify = u->verify_peer,
	};
	int error;

	*why->text = 0;
	error = io_tls_client_load(&config, &t->peer.client, fault, why);
	if (error == -ENOMEM)
		return no_memory(why);
	if (error)
		return error;
	t->peer.trusted = u->certificates;
	if (!u->psk_file)
		t->peer.host = u->hostname ? u->hostname : u->host;
	/* Asked now, since it may load a module. */
	t->relay = t->options.relay || u->socket || !attach_ktls_known();
	return 0;
}

/* ------------------------------------------------------------------ public */

int attach_target_open(const char *uri, const struct attach_options *options,
		       struct attach_target **target, struct attach_why *why)
{
	struct attach_target *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return no_memory(why);
	if (options)
		t->options = *options;
	error = attach_uri_read(uri, &t->uri, why);
	if (!error) {
		make_name(t);
		error = t->uri.socket ? use_socket(t, why) : resolve(t, why);
	}
	if (!error && t->uri.tls)
		error = load_tls(t, why);
	if (error) {
		attach_target_close(t);
		return error;
	}
	*target = t;
	return 0;
}

void attach_target_close(struct attach_target *t)
{
	if (!t)
		return;
	io_tls_client_free(t->peer.client);
	attach_uri_free(&t->uri);
	free(t->addresses);
	free(t);
}

const char *attach_target_name(const struct attach_target *t)
{
	return t->name;
}

const char *attach_target_export(const struct attach_target *t)
{
	return t->uri.export;
}

bool attach_target_is_unix(const struct attach_target *t)
{
	return t->uri.socket;
}

bool attach_target_uses_tls(const struct attach_target *t)
{
	return t->uri.tls;
}
