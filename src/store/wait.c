/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for memory, in order of arrival, and being woken. See thread.h. */
#include <errno.h>
#include <time.h>

#include "keeper.h"
#include "pool.h"
#include "thread.h"

/* Who looks for memory frees some on the way, and need not be told of it: it
 * would be woken by itself for as long as others hold the rest back. */
static _Thread_local struct ram_thread *looking;

void wait_look(struct ram_thread *t, bool begin)
{
	looking = begin ? t : NULL;
}

void thread_wake(struct ram_thread *t)
{
	lock_take(&t->wake_lock);
	t->woken = true;
	pthread_cond_broadcast(&t->wake_cond);
	lock_drop(&t->wake_lock);
	if (t->wake)
		t->wake(t->arg);
}

/* Those who hold a lock or have frozen a disk must not wait behind others, who
 * may be waiting for just that. */
static bool has_precedence(const struct ram_thread *t)
{
	return t == t->pool->service || t == t->pool->keeper_thread;
}

bool wait_join(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	bool first;

	if (has_precedence(t))
		return true;
	lock_take(&pool->waiters_lock);
	if (!t->waiting) {
		t->waiting = true;
		t->wait_next = NULL;
		if (pool->waiters)
			pool->waiters_tail->wait_next = t;
		else
			pool->waiters = t;
		pool->waiters_tail = t;
		atomic_fetch_add(&pool->waiters_count, 1);
	}
	first = pool->waiters == t;
	lock_drop(&pool->waiters_lock);
	return first;
}

void wait_done(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	struct ram_thread *before = NULL, *at;

	if (!t->waiting)
		return; /* set by this thread alone */
	lock_take(&pool->waiters_lock);
	for (at = pool->waiters; at != t; at = at->wait_next)
		before = at;
	if (before)
		before->wait_next = t->wait_next;
	else
		pool->waiters = t->wait_next;
	if (pool->waiters_tail == t)
		pool->waiters_tail = before;
	t->waiting = false;
	atomic_fetch_sub(&pool->waiters_count, 1);
	if (!before && pool->waiters)
		thread_wake(pool->waiters);
	lock_drop(&pool->waiters_lock);
}

bool wait_others(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	bool others;

	if (atomic_load_explicit(&pool->waiters_count, memory_order_relaxed) ==
		    0 ||
	    has_precedence(t))
		return false;
	lock_take(&pool->waiters_lock);
	others = pool->waiters && pool->waiters != t;
	lock_drop(&pool->waiters_lock);
	return others;
}

void wait_wake_first(struct ram_pool *pool)
{
	if (atomic_load(&pool->waiters_count) == 0)
		return;
	lock_take(&pool->waiters_lock);
	if (pool->waiters && pool->waiters != looking)
		thread_wake(pool->waiters);
	lock_drop(&pool->waiters_lock);
}

void wait_wake_all(struct ram_pool *pool)
{
	struct ram_thread *t;

	lock_take(&pool->threads_lock);
	for (t = pool->threads; t; t = t->next)
		thread_wake(t);
	lock_drop(&pool->threads_lock);
}

static struct timespec from_now(unsigned msec)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += msec / 1000;
	at.tv_nsec += msec % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	return at;
}

/* Block until woken; true if so. */
static bool sleep_for(struct ram_thread *t, unsigned msec)
{
	struct timespec until = from_now(msec);
	bool woken;

	lock_take(&t->wake_lock);
	while (!t->woken &&
	       pthread_cond_timedwait(&t->wake_cond, &t->wake_lock.mutex,
				      &until) == 0)
		;
	woken = t->woken;
	t->woken = false;
	lock_drop(&t->wake_lock);
	return woken;
}

/* How often a thread that waits does the work of a housekeeper that does not
 * run: nobody else would. */
#define STAND_IN_MSEC 5

int ram_wait(struct ram_thread *t, unsigned msec)
{
	unsigned slice;

	do {
		slice = msec;
		if (keeper_stand_in(t->pool) && slice > STAND_IN_MSEC)
			slice = STAND_IN_MSEC;
		if (sleep_for(t, slice))
			return 0;
		msec -= slice;
	} while (msec > 0);
	/* It gives up: the next in line must not wait for it. */
	wait_done(t);
	return -ETIMEDOUT;
}

void ram_wait_cancel(struct ram_thread *t)
{
	wait_done(t);
}
