/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the host keeps for itself. The pool's bound says how much it may
 * have; this says whether the host can spare it just now: before it begins to page,
 * new memory is refused, while what is there is read and overwritten as ever.
 *
 * The host is not asked for each block: an answer allows half of what is left
 * above the headroom to be taken before it is asked again. */
#ifndef NBDRAM_STORE_HEADROOM_H
#define NBDRAM_STORE_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

struct ram_pool;

/* Ask the host, unless that was done a moment ago, and set charge.allowed: how
 * many blocks with memory the pool may have until it is asked again; and
 * charge.most, how many it could have. Any thread
 * that holds none of the store's locks from RANK_BLOCKS on. */
void headroom_look(struct ram_pool *pool);

/* Whether n more blocks may be populated without need. Asks the host when its last
 * answer is used up. */
bool headroom_spares(struct ram_pool *pool, uint64_t n);

/* Blocks that hold memory now, free ones included. Takes blocks.lock. */
uint64_t headroom_backed(struct ram_pool *pool);

/* The larger of 1 GiB and a tenth of the memory, but at most a quarter of it. */
uint64_t headroom_usual(uint64_t total);

/* What is left in a control group of that limit, for a headroom of the host. */
uint64_t headroom_group(uint64_t limit, uint64_t headroom);

#endif
