/* SPDX-License-Identifier: BSD-3-Clause */
/* How large a pool may be. */
#ifndef NBDRAM_STORE_BOUNDS_H
#define NBDRAM_STORE_BOUNDS_H

#include "pool.h"
#include "why.h"

/* The size of a pool that was not given one: what the host or control group has
 * left, with what the pool holds already (`held` bytes), less headroom (of a group's
 * limit a sixteenth at most); in a
 * folder at most what its file system takes. -ENOMEM: too little is left;
 * -errno of reading /proc. */
int bounds_default(const struct backing *backing, uint64_t held,
		   uint64_t headroom, uint64_t *size, struct ram_why *why);

/* Whether what is behind a pool can hold `size` bytes. -ENOSPC. */
int bounds_fit(const struct backing *backing, uint64_t size,
	       struct ram_why *why);

/* Set the limits of a pool for `size` bytes. -EBUSY: more is in use; unchanged
 * then. */
int bounds_set(struct ram_pool *pool, uint64_t size);

/* The least that bounds_set() takes now. */
uint64_t bounds_needed(struct ram_pool *pool);

#endif
