/* SPDX-License-Identifier: BSD-3-Clause */
/* What main thread and workers share. */
#ifndef NBDRAM_SERVER_H
#define NBDRAM_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "addresses.h"
#include "config.h"
#include "exports.h"
#include "sessions.h"
#include "store.h"

struct worker;

struct server {
	/* Fixed before workers start. */
	const struct config *config;
	struct ram_pool *pool;
	struct exports exports;
	struct worker *workers;
	unsigned worker_count;
	uint64_t socket_memory; /* bytes that all sockets together may hold */

	/* With locks of their own. */
	struct addresses addresses;
	struct sessions sessions;

	/* Changed by main thread and workers. */
	_Atomic uint64_t last_id;      /* of a connection */
	_Atomic uint32_t connections;  /* open now */
	_Atomic uint32_t unfinished;   /* of them, in the handshake */
	_Atomic uint64_t landing_turn; /* who may use the last piece; 0: free */
	_Atomic uint32_t stalled;      /* connections that wait for landing */
};

#endif
