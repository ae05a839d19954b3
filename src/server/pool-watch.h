/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings in the log before and when memory runs out: the pool is nearly full,
 * the host is short of memory, no memory was to be had. Each is said once, and again
 * only after it was over. */
#ifndef NBDRAM_SERVER_POOL_WATCH_H
#define NBDRAM_SERVER_POOL_WATCH_H

#include <event2/event.h>

#include "server.h"

struct pool_watch;

/* Look each second, on the loop of `base`. NULL: no memory. */
struct pool_watch *pool_watch_start(struct event_base *base,
				    struct ram_pool *pool);
void pool_watch_stop(struct pool_watch *watch); /* NULL is fine */

#endif
