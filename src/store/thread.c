/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations and epochs. See thread.h.
 *
 * Why a freed block is safe once every epoch up to the one in which it was put
 * away is over: a reader that may still hold it entered before it was unlinked,
 * so with an epoch no later than the one read after unlinking. A reader that
 * entered with a later one looked at the epoch again after telling others where
 * it is, hence after the unlinking, and cannot find the block any more. */
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "keeper.h"
#include "pool.h"

int ram_pool_join(struct ram_pool *pool, void (*wake)(void *arg), void *arg,
		  struct ram_thread **thread)
{
	struct ram_thread *t = NULL;
	pthread_condattr_t attr;

	if (!fault(RAM_FAULT_ALLOC))
		t = aligned_alloc(64, sizeof(*t));
	if (!t)
		return -ENOMEM;
	memset(t, 0, sizeof(*t));
	t->pool = pool;
	t->wake = wake;
	t->arg = arg;
	lock_init(&t->wake_lock, RANK_WAKE);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake_cond, &attr);
	pthread_condattr_destroy(&attr);

	lock_take(&pool->threads_lock);
	t->next = pool->threads;
	pool->threads = t;
	lock_drop(&pool->threads_lock);
	*thread = t;
	return 0;
}

void ram_pool_leave(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	struct ram_thread **at;

	wait_done(t);
	ram_epoch_enter(t);
	stock_empty(t);
	limbo_push(t);
	ram_epoch_leave(t);

	lock_take(&pool->threads_lock);
	for (at = &pool->threads; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	lock_drop(&pool->threads_lock);

	pthread_cond_destroy(&t->wake_cond);
	lock_destroy(&t->wake_lock);
	free(t->bounce);
	free(t);
}

void ram_epoch_enter(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	uint64_t outside, epoch;

	if (t->depth++ > 0)
		return;
	for (;;) {
		epoch = atomic_load(&pool->epoch);
		outside = 0;
		if (atomic_compare_exchange_strong(&t->inside, &outside, epoch))
			break;
		sched_yield(); /* our stock is being borrowed */
	}
	while (atomic_load(&pool->epoch) != epoch) {
		epoch = atomic_load(&pool->epoch);
		atomic_store(&t->inside, epoch);
	}
	t->epoch = epoch;
}

void ram_epoch_leave(struct ram_thread *t)
{
	if (--t->depth > 0)
		return;
	atomic_store_explicit(&t->inside, 0, memory_order_release);
}

unsigned thread_step_out(struct ram_thread *t)
{
	unsigned depth = t->depth;

	t->depth = 1;
	ram_epoch_leave(t);
	return depth;
}

void thread_step_in(struct ram_thread *t, unsigned depth)
{
	ram_epoch_enter(t);
	t->depth = depth;
}

int64_t thread_leave(struct ram_thread *t, int64_t result)
{
	ram_epoch_leave(t);
	if (result != -EAGAIN)
		wait_done(t);
	return result;
}

bool thread_hold(struct ram_thread *t)
{
	uint64_t outside = 0;

	return atomic_compare_exchange_strong(&t->inside, &outside,
					      THREAD_HELD);
}

void thread_unhold(struct ram_thread *t)
{
	atomic_store_explicit(&t->inside, 0, memory_order_release);
}

/* Whether any view of t is out: mostly none is, and the rings need no look. */
static bool lends_any(struct ram_thread *t)
{
	uint64_t returned = atomic_load(&t->returned_all);

	return atomic_load(&t->lent_all) != returned;
}

/* Whether views that t lent in an epoch of this slot are still out. */
static bool lends(struct ram_thread *t, uint64_t epoch)
{
	unsigned slot = epoch % EPOCH_RING;
	uint64_t returned = atomic_load(&t->returned[slot]);

	return atomic_load(&t->lent[slot]) != returned;
}

uint64_t epoch_oldest(struct ram_pool *pool)
{
	uint64_t now = atomic_load(&pool->epoch), oldest = now, inside, e;
	struct ram_thread *t;

	lock_take(&pool->threads_lock);
	for (t = pool->threads; t; t = t->next) {
		/* `inside` first: a view lent inside is counted before its
		 * thread leaves. */
		inside = atomic_load(&t->inside);
		if (inside != 0 && inside != THREAD_HELD && inside < oldest)
			oldest = inside;
		if (!lends_any(t))
			continue;
		for (e = now - (EPOCH_RING - 1); e < oldest; e++) {
			if (lends(t, e))
				oldest = e;
		}
	}
	lock_drop(&pool->threads_lock);
	return oldest;
}

bool epoch_advance(struct ram_pool *pool)
{
	uint64_t now = atomic_load(&pool->epoch);

	/* Two epochs of one slot of the rings must not be alive at once. */
	if (now - epoch_oldest(pool) >= EPOCH_RING - 2)
		return false;
	atomic_compare_exchange_strong(&pool->epoch, &now, now + 1);
	return true;
}

void thread_quiesce(struct ram_pool *pool)
{
	const struct timespec pause = {.tv_nsec = 20000};
	struct ram_thread *t;
	uint64_t since, inside;
	unsigned spins = 0;
	bool busy;

	for (;;) {
		since = atomic_load(&pool->epoch);
		if (epoch_advance(pool))
			break;
		nanosleep(&pause, NULL); /* a view lent long ago */
	}
	do {
		busy = false;
		lock_take(&pool->threads_lock);
		for (t = pool->threads; t && !busy; t = t->next) {
			inside = atomic_load(&t->inside);
			busy = inside != 0 && inside != THREAD_HELD &&
			       inside <= since;
		}
		lock_drop(&pool->threads_lock);
		if (busy && ++spins < 50)
			sched_yield();
		else if (busy)
			nanosleep(&pause, NULL);
	} while (busy);
}
