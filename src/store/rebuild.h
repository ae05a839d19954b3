/* SPDX-License-Identifier: BSD-3-Clause */
/* Volatile state from what is stored: when a pool is opened. */
#ifndef NBDRAM_STORE_REBUILD_H
#define NBDRAM_STORE_REBUILD_H

#include "pool.h"

/* Walk everything, count uses, make the disks in memory; `blocks` is how many
 * the file holds. Writes nothing into the pool. -EINVAL (damaged), -ENOMEM; the
 * list of disks may be half made then. In meta.owner places are left, which are
 * nobody's owner numbers. */
int rebuild(struct ram_pool *pool, uint64_t blocks, struct ram_why *why);

/* Take away the disks that do not outlive a restart. Writes. */
void rebuild_drop(struct ram_pool *pool);

#endif
