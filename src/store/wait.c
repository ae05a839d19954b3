/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for memory, in order of arrival, and being woken. See thread.h. */
#include <errno.h>
#include <time.h>

#include "keeper.h"
#include "pool.h"
#include "thread.h"

void thread_wake(struct ram_thread *t)
{
	lock_take(&t->wake_lock);
	t->woken = true;
	pthread_cond_broadcast(&t->wake_cond);
	lock_drop(&t->wake_lock);
	if (t->wake)
		t->wake(t->arg);
}

bool wait_join(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	bool first;

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

	lock_take(&pool->waiters_lock);
	if (t->waiting) {
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
	}
	lock_drop(&pool->waiters_lock);
}

bool wait_others(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	bool others;

	if (atomic_load_explicit(&pool->waiters_count, memory_order_relaxed) ==
	    0)
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
	if (pool->waiters)
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

int ram_wait(struct ram_thread *t, unsigned msec)
{
	struct timespec until;
	int error = 0;

	/* Without a housekeeper nobody else will free anything. */
	keeper_stand_in(t->pool);

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += msec / 1000;
	until.tv_nsec += msec % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	lock_take(&t->wake_lock);
	while (!t->woken && error == 0)
		error = -pthread_cond_timedwait(&t->wake_cond,
						&t->wake_lock.mutex, &until);
	if (t->woken)
		error = 0;
	t->woken = false;
	lock_drop(&t->wake_lock);
	if (error) {
		/* It gives up: the next in line must not wait for it. */
		wait_done(t);
		return -ETIMEDOUT;
	}
	return 0;
}
