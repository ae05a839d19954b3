/* SPDX-License-Identifier: BSD-3-Clause */
/* From an address as text to sockets that listen. The main thread's. */
#ifndef NBDRAM_SERVER_LISTEN_ADDRESS_H
#define NBDRAM_SERVER_LISTEN_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "config.h"
#include "unix-socket.h"

/* What is made of the sockets; each call may refuse by a negative errno, having
 * said why, and the socket is then closed by the caller. */
struct listen_sink {
	int (*add)(struct listen_sink *sink, const struct unix_socket *u);
	/* Somebody has the address. True: it was one of ours that will be closed
	 * soon, and now lets another sit beside it. */
	bool (*share)(struct listen_sink *sink, const struct sockaddr *address);
	/* By listen_sink_init(). */
	struct config_errors *errors;
	char where[1104]; /* "FILE:LINE: ", or "" */
	bool insecure;
};

void listen_sink_init(struct listen_sink *sink, const struct config *config,
		      struct config_errors *errors);

/* Open all sockets of an address ("HOST:PORT", "[V6]:PORT", ":PORT",
 * "unix:PATH"). Negative: a line in sink->errors says why. */
int listen_address_open(struct listen_sink *sink, const char *text);

/* Could they be opened? Only looks, and opens nothing: what is no address of
 * anything, may not be listened to without TLS, or has something else than a
 * socket at its path. Negative: told in sink->errors. */
int listen_address_check(struct listen_sink *sink, const char *text);

/* Tell that what is there could be read by everybody. Returns -EACCES. */
int listen_address_public(struct config_errors *errors, const char *where,
			  const char *text);

/* May a listener be there without TLS and without --insecure? */
bool listen_address_private(const struct sockaddr *address);

/* Whoever may sit beside us (SO_REUSEPORT); only for the moment of change. */
void listen_address_sharing(int fd, bool yes);

/* The port of an IP address, in the machine's order; -1: it has none. */
int listen_address_port(const struct sockaddr *address);

#endif
