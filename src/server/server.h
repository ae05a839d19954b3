/* SPDX-License-Identifier: BSD-3-Clause */
/* What main thread and workers share. */
#ifndef NBDRAM_SERVER_H
#define NBDRAM_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "addresses.h"
#include "config.h"
#include "exports.h"
#include "sessions.h"
#include "stats.h"
#include "store.h"

struct worker;

/* What a reload may change under workers that run. */
struct server_limits {
	_Atomic unsigned unfinished; /* as struct config has them */
	_Atomic unsigned handshake_msec;
	_Atomic unsigned busy_poll_usec;
	_Atomic unsigned tls; /* enum config_tls */
	_Atomic unsigned full_msec;
};

struct listeners;
struct io_tls;
struct mainbox;
struct makers;
struct saver;
struct fetcher;

struct server {
	/* What is served now. A reload exchanges what is in there: the main
	 * thread, with config_lock held; so the main thread reads it without,
	 * others with the lock. */
	struct config *config;
	pthread_mutex_t config_lock;
	struct io_tls *tls; /* for new clients; guarded by config_lock */

	/* Held by whoever changes disks or what is exported: commands and
	 * reloads, one at a time. Taken before all other locks. */
	pthread_mutex_t change_lock;

	/* The main thread's. */
	struct stats stats;
	const struct config_sources *sources; /* where it came from */
	struct listeners *listeners;
	unsigned max_connections; /* in force now */

	/* Fixed before workers start. */
	uint64_t began; /* msec, of now_msec() */
	struct mainbox *mainbox;
	struct makers *makers;	 /* of disks that templates are for */
	struct saver *saver;	 /* of disks to files */
	struct fetcher *fetcher; /* of what disks have not got yet */
	struct ram_pool *pool;
	struct worker *workers;
	unsigned worker_count;
	uint64_t kept_most;	/* of kept: half of landing */
	uint64_t socket_memory; /* bytes that all sockets together may hold */

	/* With locks of their own. */
	struct exports exports;
	struct addresses addresses;
	struct sessions sessions;

	/* Written by the main thread. */
	struct server_limits limits;

	/* Changed by main thread and workers. */
	_Atomic uint64_t last_id;     /* of a connection */
	_Atomic uint32_t connections; /* open now */
	_Atomic uint32_t unfinished;  /* of them, in the handshake */
	_Atomic unsigned
		stop_msec; /* at the end: for replies that were begun */
	_Atomic uint64_t
		kept; /* bytes that lie in landing for want of memory */
	_Atomic uint64_t landing_turn; /* who may use the last piece; 0: free */
	_Atomic uint32_t stalled;      /* connections that wait for landing */
};

#endif
