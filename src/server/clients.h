/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is connected, asked of the workers. All functions wait for the workers, so
 * they are for command threads alone, and for while workers run. */
#ifndef NBDRAM_SERVER_CLIENTS_H
#define NBDRAM_SERVER_CLIENTS_H

#include "server.h"

/* Have look(worker, arg) called on the thread of each worker, on several at a
 * time, and wait until all have. -ENOMEM: on none. */
int workers_ask(struct server *server,
		void (*look)(struct worker *w, void *arg), void *arg);

struct client {
	uint64_t id;
	char peer[80];
	char *export_name; /* NULL: it has none open */
	const char *state; /* a word or two */
	char who[200];	   /* its identity, fit for a terminal */
	const char *tls_version, *tls_cipher; /* NULL: in clear */
	bool readonly;
	bool in_session;
	uint64_t seconds; /* since it connected */
	uint64_t requests, read, written;
};

/* All of them, in the order of their numbers; the array goes to clients_free().
 * -ENOMEM. */
int clients_list(struct server *server, struct client **clients, size_t *count);
void clients_free(struct client *clients, size_t count);

/* Close the connection of that number. -ENOENT, -ENOMEM. */
int clients_disconnect(struct server *server, uint64_t id);

/* Close all connections that have that export open; *closed: how many. -ENOMEM. */
int clients_disconnect_export(struct server *server, const char *name,
			      unsigned *closed);

#endif
