/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that come to a socket that listens: counted, and given to a worker, or
 * turned away. The main thread's. */
#ifndef NBDRAM_SERVER_ACCEPTOR_H
#define NBDRAM_SERVER_ACCEPTOR_H

#include <event2/event.h>
#include <sys/socket.h>

#include "server.h"

struct acceptor {
	struct server *server;
	int fd; /* not owned */
	struct event *event, *pause;
};

/* Ready for that socket, and not accepting yet. End it by acceptor_end() in any
 * case. -ENOMEM. */
int acceptor_init(struct acceptor *a, struct server *server,
		  struct event_base *base, int fd);

/* Accept from now on; a while later when descriptors have run out. */
void acceptor_start(struct acceptor *a);

/* Accept no more; before the socket is closed. All zero is fine. */
void acceptor_end(struct acceptor *a);

/* Accept what waits now, at most so many. 0; or why there was no more: EAGAIN, or
 * that something has run out. */
int acceptor_take(struct acceptor *a, unsigned most);

/* An address as text: "HOST:PORT", "[V6]:PORT", "unix". */
void acceptor_peer_text(const struct sockaddr_storage *from, char *buf,
			size_t size);

#endif
