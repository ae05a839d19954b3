/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that brings what disks have not got yet (load = lazy): what clients wait
 * for first, and all the rest in order behind. One for all disks and their copies. */
#ifndef NBDRAM_SERVER_FETCHER_H
#define NBDRAM_SERVER_FETCHER_H

#include "store.h"

struct fetcher;

/* Start the thread, once there is a pool, and before anybody is served. NULL: it
 * cannot be had. */
struct fetcher *fetcher_start(struct ram_pool *pool);

/* End it, at once but for one read of a file; what is missing then stays so. Before
 * the pool is closed, when nobody is served any more. NULL is fine. */
void fetcher_stop(struct fetcher *fetcher);

#endif
