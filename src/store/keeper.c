/* SPDX-License-Identifier: BSD-3-Clause */
/* See keeper.h.
 *
 * One step is short and can be made by any thread that holds keeper_lock: the
 * housekeeper's own, or one that stands in for it before it has been started.
 * With nothing to do it sleeps for good; whoever puts something away wakes it. */
#include "keeper.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "check.h"
#include "disk.h"
#include "freemap.h"
#include "group.h"
#include "headroom.h"
#include "pool.h"
#include "tree.h"

/* How long freed blocks may lie in the limbo of a thread that is idle. */
#define PAUSE_MSEC 20
/* After a disk is gone, until its relatives are counted: its tables are dropped
 * level by level, each in an epoch of its own. */
#define RECOUNT_MSEC 100
/* The same while somebody waits for memory. */
#define PAUSE_SHORT_MSEC 1
/* Dead tables dropped in one step: some 64 * 512 counts. */
#define DROP_MOST 64
/* Blocks by which the warm reserve may be exceeded before it is cut. */
#define WARM_SLACK 64

/* Free memory that was not needed for so long is given back. */
#define SURPLUS_MSEC 200

static uint64_t now_msec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void keeper_recount(struct ram_pool *pool)
{
	atomic_store(&pool->recount_at, now_msec() + RECOUNT_MSEC);
	atomic_store(&pool->recounts, true);
	keeper_wanted(pool);
}

void keeper_init(struct ram_pool *pool)
{
	pthread_condattr_t attr;

	lock_init(&pool->keeper_lock, RANK_KEEPER);
	pthread_mutex_init(&pool->keeper_mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->keeper_cond, &attr);
	pthread_condattr_destroy(&attr);
}

static void kick(struct ram_pool *pool)
{
	pthread_mutex_lock(&pool->keeper_mutex);
	pool->keeper_kicked = true;
	pthread_cond_signal(&pool->keeper_cond);
	pthread_mutex_unlock(&pool->keeper_mutex);
}

void keeper_wanted(struct ram_pool *pool)
{
	if (atomic_load(&pool->keeper_idle) &&
	    atomic_exchange(&pool->keeper_idle, false))
		kick(pool);
}

/* ----------------------------------------------------------------- duties */

/* Bring in what other threads have put away, and free what is old enough. */
static void collect(struct ram_pool *pool, bool with_stock)
{
	block_collect(pool, NULL, with_stock);
	epoch_advance(pool);
	limbo_drain(pool, NULL);
}

/* What a writer put into a leaf while a trim took the leaf away is no longer its
 * disk's own. The disk is known by its owner number; when it has been cloned
 * meanwhile, its own has begun anew and is right. */
static void disown_dropped(struct ram_pool *pool, uint32_t owner, unsigned n)
{
	struct ram_disk *disk;
	uint64_t i;

	lock_take(&pool->slots.lock);
	for (i = 0; i < pool->slots.capacity; i++) {
		disk = pool->slots.disk[i];
		if (disk && atomic_load(&disk->owner) == owner) {
			charge_disown(pool, disk, n);
			break;
		}
	}
	lock_drop(&pool->slots.lock);
}

/* Drop tables nobody sees any more. True: there are more. */
static bool drop_tables(struct ram_pool *pool)
{
	struct ram_thread *t = pool->keeper_thread;
	unsigned level, n, last;
	uint32_t block, owner;

	for (n = 0; n < DROP_MOST; n++) {
		block = block_next_dead(pool, &level);
		if (block == 0)
			break;
		owner = atomic_load(&pool->meta[block].owner);
		ram_epoch_enter(t);
		last = tree_drop_table(t, block);
		limbo_push(t);
		ram_epoch_leave(t);
		block_free_dead(pool, block);
		if (last > 0 && level == 1)
			disown_dropped(pool, owner, last);
	}
	if (n > 0)
		atomic_store(&pool->recount_at, now_msec() + RECOUNT_MSEC);
	return n == DROP_MOST;
}

/* The next disk whose own is to be counted, with a handle; NULL: none. */
static struct ram_disk *next_recount(struct ram_pool *pool)
{
	struct ram_disk *disk, *found = NULL;
	uint64_t i;

	lock_take(&pool->slots.lock);
	for (i = 0; i < pool->slots.capacity && !found; i++) {
		disk = pool->slots.disk[i];
		if (disk && disk->recount) {
			disk->recount = false;
			disk->handles++;
			found = disk;
		}
	}
	if (!found)
		atomic_store(&pool->recounts, false);
	lock_drop(&pool->slots.lock);
	return found;
}

/* Set one disk's own right, once the tables of its relative are gone. What its
 * writers do meanwhile is added to the count. True: there may be more. */
static bool recount_own(struct ram_pool *pool)
{
	struct ram_disk *disk;
	uint64_t before, held, own, missing;

	if (!atomic_load(&pool->recounts) ||
	    (!pool->at_once && now_msec() < atomic_load(&pool->recount_at)))
		return false;
	disk = next_recount(pool);
	if (!disk)
		return false;
	before = charge_own(pool, disk);
	disk_count(disk, pool->keeper_thread, &held, &own, &missing);
	charge_recount(pool, disk, before, own);
	ram_disk_put(disk);
	return true;
}

static uint64_t promised_now(struct ram_pool *pool)
{
	uint64_t n;

	lock_take(&pool->charge.lock);
	n = pool->charge.promised;
	lock_drop(&pool->charge.lock);
	return n;
}

/* How much free memory should be populated, in blocks. */
static uint64_t warm_target(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	uint64_t promised, room, warm = pool->warm;

	lock_take(&b->lock);
	room = freemap_room(b);
	lock_take(&pool->charge.lock);
	promised = pool->charge.promised;
	/* The host is short of memory: payloads on their way still need some. */
	if (pool->charge.pressed)
		warm = min_u64(warm, b->landing);
	lock_drop(&pool->charge.lock);
	lock_drop(&b->lock);
	return min_u64(warm + promised, room);
}

static uint64_t warm_now(struct ram_pool *pool)
{
	uint64_t n;

	lock_take(&pool->blocks.lock);
	n = pool->blocks.free_backed;
	lock_drop(&pool->blocks.lock);
	return n;
}

/* One run more of warm memory, towards the target. 0: there is nothing
 * to do; 1: done, look again; negative: the file system refused. */
static int warm_more(struct ram_pool *pool, uint64_t target)
{
	uint64_t now = warm_now(pool);
	struct run run;
	int error;

	if (now >= target)
		return 0;
	if (pool->blocks.grouped) {
		error = group_open(pool);
		return error ? error : 1;
	}
	run = block_hand_out(pool, false, min_u64(target - now, RUN_BLOCKS));
	if (run.count == 0)
		return 0;
	error = pool_fill(pool, &run);
	block_hand_in(pool, run, !error);
	return error ? error : 1;
}

/* Punch one run of the surplus. */
static bool cut(struct ram_pool *pool)
{
	struct run run;
	bool cold;

	if (pool->surplus < (pool->blocks.grouped ? RUN_BLOCKS : 1))
		return false;
	run = block_hand_out(pool, true, min_u64(pool->surplus, RUN_BLOCKS));
	cold = run.count > 0 &&
	       backing_punch(&pool->backing, run.first, run.count) == 0;
	if (run.count > 0)
		block_hand_in(pool, run, !cold);
	pool->surplus = cold ? pool->surplus - run.count : 0;
	return cold;
}

/* Memory is a surplus when nobody has needed it for a while: overwriting frees
 * as much as it takes, in bursts. True while there may be some. */
static bool weigh_surplus(struct ram_pool *pool, uint64_t target, bool at_once)
{
	struct blocks *b = &pool->blocks;
	uint64_t now = now_msec(), low, slack = WARM_SLACK;
	bool over;

	lock_take(&b->lock);
	/* What lies between blocks in use cannot be given back. */
	if (b->grouped)
		slack = b->whole > 0 ? RUN_BLOCKS : b->total;
	over = b->free_backed > target + slack;
	low = at_once ? b->free_backed : b->backed_low;
	if (at_once || now - pool->weighed >= SURPLUS_MSEC) {
		pool->weighed = now;
		b->backed_low = b->free_backed;
		if (low > target + slack || (at_once && low > target))
			pool->surplus = low - target;
	}
	lock_drop(&b->lock);
	return over;
}

/* A run of free blocks that nobody knew to hold memory: it is part of the reserve
 * while that wants any, else it goes back to the host. */
static void sweep_run(struct ram_pool *pool, struct run run, uint64_t target)
{
	bool keep = warm_now(pool) + run.count <= target;

	if (!keep)
		backing_punch(&pool->backing, run.first, run.count);
	block_hand_in(pool, run, keep);
}

/* After a restart free blocks may hold memory still. One group of blocks; true:
 * there are more. */
static bool sweep(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	uint64_t taken[RUN_BLOCKS / 64], first = pool->sweep_at * RUN_BLOCKS;
	uint64_t target = warm_target(pool), n;
	unsigned char held[RUN_BLOCKS];
	struct run run = {.cold = true};
	bool holds = false, is;
	unsigned i;

	if (pool->sweep_at == b->groups) {
		pool->sweep = false;
		return false;
	}
	n = min_u64(b->total - first, RUN_BLOCKS);
	memset(held, 1, sizeof(held));
	lock_take(&b->lock);
	b->hand += freemap_take_cold(b, pool->sweep_at, taken);
	lock_drop(&b->lock);
	backing_held(&pool->backing, first, n, held);
	for (i = 0; i <= n; i++) {
		is = i < n && taken[i / 64] >> i % 64 & 1;
		if (run.count > 0 && (!is || (held[i] & 1) != holds)) {
			if (holds)
				sweep_run(pool, run, target);
			else
				block_hand_in(pool, run, false);
			run.count = 0;
		}
		if (is && run.count++ == 0) {
			run.first = first + i;
			holds = held[i] & 1;
		}
	}
	pool->sweep_at++;
	return true;
}

/* Map what was written through the file, so that touching it costs no fault: in
 * one go that is a quarter of the price of single faults. */
static bool map_more(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	uint64_t first;
	bool found;

	lock_take(&b->lock);
	found = freemap_unmapped(b, &pool->map_at);
	lock_drop(&b->lock);
	if (!found)
		return false;
	first = pool->map_at * RUN_BLOCKS;
	backing_populate_held(&pool->backing, first,
			      min_u64(b->total - first, RUN_BLOCKS));
	return true;
}

/* See what writers have done since the last look. While they take memory, what
 * would save them time later would cost them time now. */
static void look_at_writers(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;

	lock_take(&b->lock);
	pool->busy = b->takes != pool->takes_seen;
	pool->calm = !pool->busy && b->pushes == pool->pushes_seen;
	pool->takes_seen = b->takes;
	pool->pushes_seen = b->pushes;
	lock_drop(&b->lock);
}

/* Everything that needs no waiting, for about a millisecond. True: more. */
static bool tend(struct ram_pool *pool)
{
	uint64_t target = warm_target(pool);
	int changed;

	if (drop_tables(pool))
		return true;
	if (pool->sweep && sweep(pool))
		return true;
	/* In a hurry: not before the last table is dropped. */
	if ((!pool->at_once || atomic_load(&pool->blocks.pending) == 0) &&
	    recount_own(pool))
		return true;
	pool->over = weigh_surplus(pool, target, pool->at_once);
	if (cut(pool))
		return true;
	if (pool->busy)
		return false;
	if (map_more(pool))
		return true;
	if (atomic_load(&pool->populating) > 0)
		return false;
	/* Not for every block that is taken from it, nor for those that are
	 * only on their way back. */
	if (warm_now(pool) + pool->warm / 2 < target)
		pool->warming = true;
	if (pool->warming && (warm_now(pool) < promised_now(pool) ||
			      headroom_spares(pool, RUN_BLOCKS))) {
		changed = warm_more(pool, target);
		pool->warming = changed == 1;
		return pool->warming;
	}
	return false;
}

/* Payloads wait for a place: say when a piece has one. */
static void tell_of_landing(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;

	if (atomic_load(&b->landing_used) + 2 * pool->landing_piece >
	    b->landing)
		return;
	atomic_store(&pool->landing_wanted, false);
	wait_wake_all(pool);
}

static bool has_work(struct ram_pool *pool)
{
	return atomic_load(&pool->blocks.pending) > 0 ||
	       atomic_load(&pool->landing_wanted) ||
	       atomic_load(&pool->recounts) ||
	       atomic_load(&pool->waiters_count) > 0;
}

/* One step: what can be done now; *pause: milliseconds until the next one, 0
 * for at once, -1 for when somebody calls. */
static void step(struct ram_pool *pool, int *pause)
{
	bool waiters, more, quiet;

	lock_take(&pool->keeper_lock);
	waiters = atomic_load(&pool->waiters_count) > 0;
	look_at_writers(pool);
	more = tend(pool);
	if (!more || waiters) {
		/* When writers are calm their stocks come back too, since what
		 * lies in them is neither free nor used. */
		collect(pool, waiters || pool->calm);
		more = tend(pool) || more;
	}
	if (waiters)
		wait_wake_first(pool);
	if (atomic_load(&pool->landing_wanted)) {
		waiters = true;
		tell_of_landing(pool);
	}
	quiet = pool->calm && !pool->over;
	lock_drop(&pool->keeper_lock);
	if (more)
		*pause = 0;
	else if (waiters)
		*pause = PAUSE_SHORT_MSEC;
	else
		*pause = has_work(pool) || !quiet ? PAUSE_MSEC : -1;
}

/* -------------------------------------------------------------- the thread */

static void sleep_until(struct ram_pool *pool, int msec)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += msec * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&pool->keeper_mutex);
	if (msec < 0) {
		while (!pool->keeper_kicked && !pool->keeper_stop)
			pthread_cond_wait(&pool->keeper_cond,
					  &pool->keeper_mutex);
	} else if (!pool->keeper_stop) {
		pthread_cond_timedwait(&pool->keeper_cond, &pool->keeper_mutex,
				       &until);
	}
	pool->keeper_kicked = false;
	pthread_mutex_unlock(&pool->keeper_mutex);
}

static bool stopping(struct ram_pool *pool)
{
	bool stop;

	pthread_mutex_lock(&pool->keeper_mutex);
	stop = pool->keeper_stop;
	pthread_mutex_unlock(&pool->keeper_mutex);
	return stop;
}

static void *keep(void *arg)
{
	struct ram_pool *pool = arg;
	int pause = 0;

	/* As top and the like show it. */
	pthread_setname_np(pthread_self(), "housekeeper");
	while (!stopping(pool)) {
		step(pool, &pause);
		if (pause > 0) {
			sleep_until(pool, pause);
		} else if (pause < 0) {
			atomic_store(&pool->keeper_idle, true);
			/* What was put away before we said so kicks nobody. */
			if (has_work(pool))
				atomic_store(&pool->keeper_idle, false);
			else
				sleep_until(pool, -1);
			atomic_store(&pool->keeper_idle, false);
		}
	}
	return NULL;
}

int ram_pool_start(struct ram_pool *pool)
{
	int error;

	if (fault(RAM_FAULT_ALLOC))
		return -EAGAIN;
	error = pool_lock(pool);
	if (error)
		return error;
	error = pthread_create(&pool->keeper, NULL, keep, pool);
	if (error)
		return -error;
	pool->keeper_runs = true;
	return 0;
}

void keeper_stop(struct ram_pool *pool)
{
	if (pool->keeper_runs) {
		pthread_mutex_lock(&pool->keeper_mutex);
		pool->keeper_stop = true;
		pthread_cond_signal(&pool->keeper_cond);
		pthread_mutex_unlock(&pool->keeper_mutex);
		pthread_join(pool->keeper, NULL);
		pool->keeper_runs = false;
	}
	pthread_cond_destroy(&pool->keeper_cond);
	pthread_mutex_destroy(&pool->keeper_mutex);
	lock_destroy(&pool->keeper_lock);
}

/* ---------------------------------------------------------- in other threads */

void ram_pool_tidy(struct ram_pool *pool)
{
	uint64_t pending, before = UINT64_MAX;
	unsigned same = 0;

	lock_take(&pool->keeper_lock);
	pool->busy = false;
	pool->at_once = true;
	/* Each level of a deleted tree takes an epoch; what does not change for
	 * that long is held by somebody. */
	while (same < LEVEL_MAX + 2) {
		collect(pool, true);
		while (tend(pool))
			;
		pending = atomic_load(&pool->blocks.pending);
		if (pending == 0)
			break;
		same = pending == before ? same + 1 : 0;
		before = pending;
	}
	while (tend(pool))
		;
	pool->at_once = false;
	if (atomic_load(&pool->landing_wanted))
		tell_of_landing(pool);
	lock_drop(&pool->keeper_lock);
	wait_wake_first(pool);
}

bool keeper_stand_in(struct ram_pool *pool)
{
	if (pool->keeper_runs)
		return false;
	ram_pool_tidy(pool);
	return true;
}

void keeper_sweep(struct ram_pool *pool)
{
	lock_take(&pool->keeper_lock);
	while (pool->sweep && sweep(pool))
		;
	lock_drop(&pool->keeper_lock);
}
