/* SPDX-License-Identifier: BSD-3-Clause */
/* Populating what is promised: several threads take memory for free blocks, side
 * by side with writers and the housekeeper. See keeper.h. */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "group.h"
#include "keeper.h"
#include "pool.h"

#define THREADS_MOST 8
/* Blocks (32 MiB) for which one more thread is worth it. */
#define WORTH_A_THREAD 8192
#define TELL_MSEC 100

struct populate {
	struct ram_pool *pool;
	uint64_t all;	       /* blocks that were missing at first */
	_Atomic uint64_t left; /* of this round, not yet begun */
	_Atomic int error;     /* the first one */
	/* Only where progress is told. */
	ram_progress *progress;
	void *arg;
	uint64_t told; /* msec */
};

static uint64_t now_msec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Blocks that are promised and not there. */
static uint64_t missing(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	uint64_t promised, warm;

	lock_take(&b->lock);
	warm = b->free_backed;
	lock_take(&pool->charge.lock);
	promised = pool->charge.promised;
	lock_drop(&pool->charge.lock);
	lock_drop(&b->lock);
	return promised > warm ? promised - warm : 0;
}

/* A share of what is left; 0: nothing is. */
static uint64_t take_share(struct populate *p)
{
	uint64_t left = atomic_load(&p->left), n;

	do {
		n = min_u64(left, RUN_BLOCKS);
	} while (n > 0 &&
		 !atomic_compare_exchange_weak(&p->left, &left, left - n));
	return n;
}

/* Memory for one run. 1: done; 0: no free block is without memory. */
static int populate_run(struct ram_pool *pool, uint64_t n)
{
	struct run run;
	int error;

	if (pool->blocks.grouped) {
		error = group_open(pool);
		return error ? error : 1;
	}
	run = block_hand_out(pool, false, n);
	if (run.count == 0)
		return 0;
	error = backing_take(&pool->backing, run.first, run.count);
	if (error)
		backing_punch(&pool->backing, run.first, run.count);
	block_hand_in(pool, run, !error);
	return error ? error : 1;
}

/* Only by the thread that was asked to populate. True: end it. */
static bool tell(struct populate *p)
{
	uint64_t now = now_msec(), to_do;

	if (!p->progress || now - p->told < TELL_MSEC)
		return false;
	p->told = now;
	to_do = min_u64(missing(p->pool), p->all);
	return p->progress(p->arg, (p->all - to_do) * BLOCK_SIZE,
			   p->all * BLOCK_SIZE);
}

static void work(struct populate *p, bool tells)
{
	int done = 1, none = 0;
	uint64_t n;

	/* What others free or populate is enough too. */
	while (done == 1 && !atomic_load(&p->error) && missing(p->pool) > 0 &&
	       (n = take_share(p)) > 0) {
		done = populate_run(p->pool, n);
		if (done == 1 && tells && tell(p))
			done = -ECANCELED;
	}
	if (done < 0)
		atomic_compare_exchange_strong(&p->error, &none, done);
}

static void *helper(void *arg)
{
	work(arg, false);
	return NULL;
}

/* All that is missing now, once. */
static void populate_round(struct populate *p, uint64_t n)
{
	pthread_t threads[THREADS_MOST - 1];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t want = min_u64(cpus > 0 ? cpus : 1, THREADS_MOST);
	unsigned count = 0;

	atomic_store(&p->left, n);
	want = min_u64(want, n / WORTH_A_THREAD + 1);
	while (count + 1 < want &&
	       pthread_create(&threads[count], NULL, helper, p) == 0)
		count++;
	work(p, true);
	while (count > 0)
		pthread_join(threads[--count], NULL);
}

int populate(struct ram_pool *pool, ram_progress *progress, void *arg)
{
	struct populate p = {
		.pool = pool,
		.progress = progress,
		.arg = arg,
		.told = now_msec(),
	};
	uint64_t n, before = UINT64_MAX;

	atomic_fetch_add(&pool->populating, 1);
	/* What is there already is enough, perhaps. */
	keeper_sweep(pool);
	n = p.all = missing(pool);
	/* Writers may have taken some of it meanwhile. */
	while (n > 0 && n < before && !atomic_load(&p.error)) {
		before = n;
		populate_round(&p, n);
		n = missing(pool);
	}
	atomic_fetch_sub(&pool->populating, 1);
	return atomic_load(&p.error);
}
