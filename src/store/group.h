/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools whose memory comes and goes in groups of RUN_BLOCKS blocks (huge pages).
 *
 * Of a group either all blocks hold memory, or none does and all of them are
 * free. So free blocks without memory are never taken one by one: a group is
 * opened as a whole, and from then on its free blocks are warm. */
#ifndef NBDRAM_STORE_GROUP_H
#define NBDRAM_STORE_GROUP_H

#include "why.h"

struct ram_pool;

/* Take memory for one group more. -ENOSPC: all are open, or the system has
 * none; -ENOMEM. */
int group_open(struct ram_pool *pool);

/* Of a new pool: all is free; of its first group, the rest beside the superblock
 * holds memory. */
void group_fill(struct ram_pool *pool);

/* Of one that was there: free is what the walk has not met. Groups in use get
 * their memory, free ones lose it. -ENOSPC. */
int group_take_over(struct ram_pool *pool, struct ram_why *why);

#endif
