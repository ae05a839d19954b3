/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread with an event loop and the connections that live on it. What other
 * threads want of it comes by its mailbox. */
#ifndef NBDRAM_SERVER_WORKER_H
#define NBDRAM_SERVER_WORKER_H

#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

/* BSD's, which the C library's header leaves out. */
#ifndef TAILQ_FOREACH_SAFE
#define TAILQ_FOREACH_SAFE(var, head, field, next) \
	for ((var) = TAILQ_FIRST(head);            \
	     (var) && ((next) = TAILQ_NEXT(var, field), 1); (var) = (next))
#endif

#include "outq.h"
#include "server.h"

/* What one read takes at most: many requests, or many small writes. */
#define WORKER_INPUT (256u << 10)

struct conn;
TAILQ_HEAD(conn_list, conn);

/* Something to be done on a worker's thread; its owner's memory. */
struct errand {
	struct errand *next;
	void (*run)(struct worker *w, void *arg);
	void *arg;
};

/* An accepted socket on its way to its worker. */
struct arrival {
	struct arrival *next;
	int fd;
	uint64_t id;
	char peer[80];
	bool local; /* a Unix socket */
	struct address address;
};

struct worker {
	/* Fixed. */
	struct server *server;
	unsigned number;
	pthread_t thread;
	struct event_base *base;

	/* The mailbox. */
	int wake_fd; /* eventfd */
	pthread_mutex_t mail_lock;
	struct arrival *arrivals; /* guarded by mail_lock; newest first */
	struct errand *errands;	  /* likewise */
	_Atomic bool told;	  /* wake_fd has been written to */
	_Atomic bool memory;	  /* store calls are worth repeating */
	_Atomic bool stop;
	_Atomic uint32_t load; /* connections; read by the main thread */

	/* Changed by this thread only. */
	struct stats stats;

	/* This thread only. */
	struct event *wake_event, *tick_event;
	struct ram_thread *ram;
	uint8_t *input; /* WORKER_INPUT bytes, for whoever reads just now */
	struct out_pool outs;
	struct conn_list conns;	  /* all; those in the handshake first */
	struct conn_list waiting; /* for memory, in order of arrival */
	uint64_t stashed;	  /* bytes, by all connections */
	uint32_t socket_share;	  /* what sockets were told last, see conn.c */
	bool ticking, stopping;
	uint64_t ticked; /* msec: when that was last */
	/* Time in which every connection was looked at, msec: where this thread had no
	 * time for them, or was given none, it stands still. */
	uint64_t looked;
	bool active; /* something has come since busy polling looked last */
	uint64_t stop_by; /* msec; then what is open is cut */
};

/* Start a worker; 0 or a negative errno. */
int worker_start(struct worker *w, struct server *server, unsigned number);

/* Hand it a connection; takes the arrival over. Any thread. */
void worker_give(struct worker *w, struct arrival *arrival);

/* Have errand->run() called on its thread, in any order. Any thread; when the
 * worker has ended before, it is never called. */
void worker_send(struct worker *w, struct errand *errand);

/* Run what was sent; on its thread, or when that has ended. */
void worker_run_errands(struct worker *w);

/* Ask it to end its connections and itself; wait for that; and once all workers
 * have ended, free what it has. */
void worker_stop(struct worker *w);
void worker_join(struct worker *w);
void worker_destroy(struct worker *w);

/* Have worker_tick() called soon and while anything has a deadline. */
void worker_need_tick(struct worker *w);

uint64_t now_msec(void);

#endif
