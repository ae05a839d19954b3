/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes with a rank, so that the order in which locks are taken is written
 * down once and checked in debug builds (NBDRAM_DEBUG): a thread may take a
 * lock only of a higher rank than all those it holds. */
#ifndef NBDRAM_UTIL_LOCK_H
#define NBDRAM_UTIL_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

/* In the order in which they may be taken, first to last. */
enum lock_rank {
	RANK_FREEZE = 1, /* one clone, snapshot, rollback or shrink at a time */
	RANK_KEEPER,	 /* one housekeeping step at a time */
	RANK_TABLES,	 /* putting a table in the place of another */
	RANK_DISKS,	 /* the list of disks, slots, roots */
	RANK_THREADS,	 /* which threads are registered */
	RANK_BLOCKS,	 /* free runs and the limbo of freed blocks */
	RANK_CHARGE,	 /* how much is promised and used */
	RANK_WAITERS,	 /* which threads wait for what */
	RANK_FETCH,	 /* what is to be fetched, and who does it */
	RANK_WAKE,	 /* one thread's own wake-up */
	RANK_LOG,	 /* the log's line buffer */
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

#ifdef NBDRAM_DEBUG
/* Bit n is set while this thread holds a lock of rank n. */
extern _Thread_local unsigned lock_held;
#endif

static inline void lock_init(struct lock *l, enum lock_rank rank)
{
	pthread_mutex_init(&l->mutex, NULL);
	l->rank = rank;
}

static inline void lock_destroy(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

static inline void lock_took(struct lock *l)
{
#ifdef NBDRAM_DEBUG
	assert(lock_held >> l->rank == 0);
	lock_held |= 1u << l->rank;
#else
	(void)l;
#endif
}

static inline void lock_take(struct lock *l)
{
	pthread_mutex_lock(&l->mutex);
	lock_took(l);
}

/* True when the lock was free and is now ours. */
static inline bool lock_try(struct lock *l)
{
	if (pthread_mutex_trylock(&l->mutex) != 0)
		return false;
	lock_took(l);
	return true;
}

static inline void lock_drop(struct lock *l)
{
#ifdef NBDRAM_DEBUG
	assert(lock_held & 1u << l->rank);
	lock_held &= ~(1u << l->rank);
#endif
	pthread_mutex_unlock(&l->mutex);
}

#endif
