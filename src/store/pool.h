/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool as the files of this room see it. */
#ifndef NBDRAM_STORE_POOL_H
#define NBDRAM_STORE_POOL_H

#include <pthread.h>
#include <stdatomic.h>

#include "backing.h"
#include "block.h"
#include "charge.h"
#include "lock.h"
#include "slots.h"
#include "thread.h"

#define TABLE_LOCKS 64

struct ram_pool {
	/* Fixed after open. */
	struct backing backing;
	struct meta *meta;	/* one for each block */
	const uint8_t *zeroes;	/* RUN_BLOCKS blocks of zeroes, never written */
	uint64_t size;		/* bytes; the bound */
	uint64_t warm;		/* blocks */
	uint64_t headroom;	/* bytes that the host keeps; 0: none */
	uint64_t landing_piece; /* blocks one request may take of landing */

	/* One clone, snapshot, rollback or shrink at a time. */
	struct lock freeze_lock;

	struct blocks blocks;
	struct charge charge;
	struct slots slots;

	_Alignas(64) _Atomic uint64_t epoch;
	_Atomic uint32_t owners; /* the last owner number given away */
	_Atomic uint64_t refusals;
	_Atomic uint64_t scrubs; /* names of their snapshots */

	pthread_mutex_t cold_mutex; /* one write through the file at a time */

	/* By number of the table that is copied or moved from. */
	struct lock table_locks[TABLE_LOCKS];

	struct lock threads_lock;
	struct ram_thread *threads; /* guarded by threads_lock */

	struct lock waiters_lock;
	struct ram_thread *waiters, *waiters_tail; /* guarded by waiters_lock */
	_Atomic unsigned waiters_count;
	/* Some disk's own is to be counted again, from recount_at on (msec): when
	 * what its relative had has been dropped. */
	_Atomic bool recounts;
	_Atomic uint64_t recount_at;
	_Atomic bool landing_wanted; /* a payload waits for a place */

	/* Who fetches what disks have not got yet. */
	struct lock fetch_lock;
	struct ram_thread *fetcher;  /* guarded by fetch_lock; NULL: nobody */
	_Atomic bool fetch_waits;    /* some call waits for it */
	_Atomic uint64_t fetch_news; /* how often there was another such disk */

	/* The registration of calls that have none of their own; used only
	 * under the lock of the list of disks. */
	struct ram_thread *service;

	/* The housekeeper. */
	struct lock keeper_lock; /* one step at a time */
	/* Used under keeper_lock. */
	struct ram_thread *keeper_thread;
	bool busy;		     /* writers take memory just now */
	bool calm;		     /* nor do they write at all */
	bool warming;		     /* on the way to the warm reserve's size */
	bool over;		     /* more is populated than that */
	bool at_once;		     /* give it back without waiting */
	uint64_t surplus;	     /* blocks of it to give back */
	uint64_t weighed;	     /* when that was looked at, in msec */
	_Atomic unsigned populating; /* others populate: leave it to them */
	bool sweep;		     /* free blocks may hold memory still */
	uint64_t sweep_at;	     /* the next group to look at */
	uint64_t map_at;	     /* the same for mapping */
	uint64_t takes_seen, pushes_seen; /* of blocks, at the last look */
	pthread_t keeper;
	pthread_mutex_t keeper_mutex; /* guards the four below */
	pthread_cond_t keeper_cond;
	bool keeper_runs, keeper_stop, keeper_kicked;
	_Atomic bool keeper_idle; /* sleeps until it is kicked */
};

static inline void *pool_block(const struct ram_pool *pool, uint64_t block)
{
	return backing_at(&pool->backing, block);
}

/* Read and judge the superblock of what is there. *blocks: how many the pool has.
 * -EINVAL and why. */
int pool_super_read(const struct backing *b, uint64_t *blocks,
		    struct ram_why *why);

/* Lock what is to be locked, anew after a fork. -EPERM, -ENOMEM. */
int pool_lock(struct ram_pool *pool);

/* A new owner number, never given before in the life of this mapping. 0 when
 * they have run out (after a thousand million clones). */
#define OWNER_MAX UINT32_C(0x3fffffff)
uint32_t pool_new_owner(struct ram_pool *pool);

/* Memory for a free run that holds none, mapped; outside of epochs, for others may
 * be at it. 0, -ENOSPC or -ENOMEM: then it holds none. */
int pool_fill(struct ram_pool *pool, const struct run *run);

#endif
