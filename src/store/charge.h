/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of the pool is used and promised. Units: blocks.
 *
 * used      all blocks that are reachable, set aside for a write that may make
 *           them so, or freed and not yet free
 * promised  what disks with a guarantee may still take: guarantee - own
 *
 * used + promised stays within limit, which leaves out landing. Only blocks
 * that are new to a disk are charged: an overwrite inherits the charge of what
 * it replaces and comes by here no more than a read does. */
#ifndef NBDRAM_STORE_CHARGE_H
#define NBDRAM_STORE_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock.h"

struct ram_pool;
struct ram_disk;

#define CHARGE_KEEP UINT64_MAX

struct charge {
	struct lock lock;
	/* Guarded by lock. */
	uint64_t limit, used, promised;
	uint64_t flight; /* of used: taken by calls that are under way */
	/* What is used may become so much, landing included, before the host is
	 * asked again; so much in all, by its last answer; and whether it had
	 * nothing to spare. See headroom.h. */
	uint64_t allowed, most;
	bool pressed;
	uint64_t looked; /* when it was asked last; nsec */
	/* For people, in bytes: what the host keeps, and what it could give
	 * beside that. UINT64_MAX: it does not tell. */
	uint64_t keep, spare;
};

/* Charge n blocks to the disk (NULL: to nobody's own). -EDQUOT: its quota;
 * -ENOSPC: the pool; -ENOBUFS: the host; it is to be asked, unless `asked`. */
int charge_take(struct ram_pool *pool, struct ram_disk *disk, uint64_t n,
		bool asked);

/* A call is over that took `taken` in all, and has not used `unused` of it. */
void charge_settle(struct ram_pool *pool, struct ram_disk *disk, uint64_t taken,
		   uint64_t unused);

/* n blocks of the disk's own are no longer reachable from it (they stay charged
 * to the pool until they are free). */
void charge_disown(struct ram_pool *pool, struct ram_disk *disk, uint64_t n);

/* n charged blocks are free. */
void charge_freed(struct ram_pool *pool, uint64_t n);

/* Set own, quota and guarantee of a disk (CHARGE_KEEP: own or quota stay as they
 * are). -ENOSPC (nothing changed) when the
 * promise would grow beyond what there is; force: in any case. */
int charge_set(struct ram_pool *pool, struct ram_disk *disk, uint64_t own,
	       uint64_t quota, uint64_t guarantee, bool force);

/* What is counted as the disk's own now; and set it to what a walk has found,
 * which began when it was `before`. */
uint64_t charge_own(struct ram_pool *pool, struct ram_disk *disk);
void charge_recount(struct ram_pool *pool, struct ram_disk *disk,
		    uint64_t before, uint64_t found);

/* The disk is no more: its promise is void. */
void charge_forget(struct ram_pool *pool, struct ram_disk *disk);

/* Blocks that a disk of `size` bytes takes when all of it is written: data and
 * tables. */
uint64_t charge_whole(uint64_t size);

#endif
