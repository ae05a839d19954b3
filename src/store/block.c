/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks in use: taking them, counting uses, putting them away. See block.h;
 * the map of free ones is in freemap.c. */
#include "block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "fault.h"
#include "freemap.h"
#include "group.h"
#include "keeper.h"
#include "pool.h"

/* A thread's limbo is handed over when it has grown to this. */
#define LIMBO_MOST 256

/* Blocks that a thread sets aside for small writes. */
#define STOCK_USUAL 64

/* Blocks set aside for tables. */
#define TABLES_AHEAD 64

/* From here on it pays to look for neighbours (64 KiB). */
#define LONG_RUN 16

/* ---------------------------------------------------------------- stocks */

static void stock_push(struct stock *s, struct run run)
{
	struct run *last = s->runs ? &s->run[s->runs - 1] : NULL;

	s->blocks += run.count;
	/* Freed neighbours become long runs again, in either direction. */
	if (last && last->cold == run.cold && last->count < RUN_BLOCKS) {
		if (last->first + last->count == run.first) {
			last->count += run.count;
			return;
		}
		if (run.first + run.count == last->first) {
			last->first = run.first;
			last->count += run.count;
			return;
		}
	}
	s->run[s->runs++] = run;
}

static bool stock_has_room(const struct stock *s)
{
	return s->runs < STOCK_RUNS && s->blocks < RUN_BLOCKS;
}

static struct run stock_pop(struct stock *s, uint32_t want)
{
	struct run *last = &s->run[s->runs - 1], run = *last;

	run.count = min_u64(run.count, want);
	last->first += run.count;
	last->count -= run.count;
	if (last->count == 0)
		s->runs--;
	s->blocks -= run.count;
	return run;
}

void stock_empty(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	struct stock *s = &t->stock;
	struct run run;

	if (s->blocks == 0)
		return;
	lock_take(&pool->blocks.lock);
	while (s->blocks > 0) {
		run = stock_pop(s, RUN_BLOCKS);
		freemap_add(&pool->blocks, run);
		atomic_fetch_sub(&pool->blocks.landing_used, run.count);
	}
	lock_drop(&pool->blocks.lock);
	wait_wake_first(pool);
}

/* ----------------------------------------------------------------- limbo */

static void list_append(struct meta *meta, struct block_list *list,
			uint32_t block)
{
	atomic_store_explicit(&meta[block].count, 0, memory_order_relaxed);
	if (list->count++ == 0)
		list->head = block;
	else
		atomic_store_explicit(&meta[list->tail].count, block,
				      memory_order_relaxed);
	list->tail = block;
}

static void list_splice(struct meta *meta, struct block_list *to,
			struct block_list *from)
{
	if (from->count == 0)
		return;
	if (to->count == 0)
		to->head = from->head;
	else
		atomic_store_explicit(&meta[to->tail].count, from->head,
				      memory_order_relaxed);
	to->tail = from->tail;
	to->count += from->count;
	from->count = 0;
}

static uint32_t list_pop(struct meta *meta, struct block_list *list)
{
	uint32_t block = list->head;

	list->head =
		atomic_load_explicit(&meta[block].count, memory_order_relaxed);
	list->count--;
	return block;
}

/* One bucket whose epoch is over. Under the lock. */
static uint64_t bucket_drain(struct ram_pool *pool, struct limbo *bucket,
			     struct ram_thread *t)
{
	struct blocks *b = &pool->blocks;
	uint64_t count = bucket->count, kept = 0, freed = 0, landing;
	struct run run = {.count = 1};
	unsigned level;

	landing = atomic_fetch_sub(&b->landing_used, bucket->swaps);
	landing -= bucket->swaps;
	while (bucket->level[0].count > 0) {
		run.first = list_pop(pool->meta, &bucket->level[0]);
		if (t && landing + kept < b->landing &&
		    stock_has_room(&t->stock)) {
			stock_push(&t->stock, run);
			kept++;
		} else {
			freemap_add(b, run);
		}
		freed++;
	}
	for (level = 1; level <= LEVEL_MAX; level++) {
		b->dead_count += bucket->level[level].count;
		list_splice(pool->meta, &b->dead[level], &bucket->level[level]);
	}
	atomic_fetch_add(&b->landing_used, kept);
	if (count > bucket->swaps)
		charge_freed(pool, count - bucket->swaps);
	/* Last: who sees nothing pending must find it free and uncharged. */
	atomic_fetch_sub(&b->pending, freed);
	bucket->count = bucket->swaps = 0;
	return count;
}

uint64_t limbo_drain(struct ram_pool *pool, struct ram_thread *t)
{
	struct blocks *b = &pool->blocks;
	uint64_t oldest, done = 0;
	unsigned i;

	if (atomic_load(&b->pending) == 0)
		return 0;
	oldest = epoch_oldest(pool);
	lock_take(&b->lock);
	for (i = 0; i < EPOCH_RING; i++) {
		if (b->limbo[i].count > 0 && b->limbo[i].epoch < oldest)
			done += bucket_drain(pool, &b->limbo[i], t);
	}
	lock_drop(&b->lock);
	if (done)
		wait_wake_first(pool);
	return done;
}

void limbo_push(struct ram_thread *t)
{
	struct ram_pool *pool = t->pool;
	struct limbo *from = &t->limbo, *bucket;
	uint64_t now;
	unsigned level;

	if (from->count == 0)
		return;
	lock_take(&pool->blocks.lock);
	pool->blocks.pushes++;
	/* A later epoch than that of putting away is safe too. */
	now = atomic_load(&pool->epoch);
	bucket = &pool->blocks.limbo[now % EPOCH_RING];
	if (bucket->count > 0 && bucket->epoch < now)
		/* 64 epochs ago: epoch_advance() saw to it that it is over. */
		bucket_drain(pool, bucket, NULL);
	bucket->epoch = now;
	for (level = 0; level <= LEVEL_MAX; level++)
		list_splice(pool->meta, &bucket->level[level],
			    &from->level[level]);
	bucket->count += from->count;
	bucket->swaps += from->swaps;
	/* The first of them was counted when it came. */
	atomic_fetch_add(&pool->blocks.pending, from->count - 1);
	from->count = from->swaps = 0;
	lock_drop(&pool->blocks.lock);
}

static void put_away(struct ram_thread *t, uint32_t block, unsigned level,
		     bool swap)
{
	struct ram_pool *pool = t->pool;
	struct limbo *limbo = &t->limbo;

	list_append(pool->meta, &limbo->level[level], block);
	limbo->swaps += swap;
	/* One is enough to say that there is something; a locked instruction
	 * for each would be felt. */
	if (limbo->count++ == 0) {
		atomic_fetch_add(&pool->blocks.pending, 1);
		keeper_wanted(pool);
	}
	if (limbo->count >= LIMBO_MOST)
		limbo_push(t);
}

void block_collect(struct ram_pool *pool, struct ram_thread *self,
		   bool with_stock)
{
	struct ram_thread *t;

	lock_take(&pool->threads_lock);
	for (t = pool->threads; t; t = t->next) {
		if (t == self || !thread_hold(t))
			continue;
		limbo_push(t);
		if (with_stock)
			stock_empty(t);
		thread_unhold(t);
	}
	lock_drop(&pool->threads_lock);
	if (!with_stock)
		return;
	lock_take(&pool->blocks.lock);
	atomic_fetch_sub(&pool->blocks.landing_used, pool->blocks.tables.count);
	freemap_add(&pool->blocks, pool->blocks.tables);
	pool->blocks.tables.count = 0;
	lock_drop(&pool->blocks.lock);
}

/* ---------------------------------------------------------- uses, taking */

void block_born(struct ram_pool *pool, uint64_t block, unsigned level,
		uint32_t owner)
{
	struct meta *m = &pool->meta[block];

	atomic_store_explicit(&m->count,
			      (uint32_t)level << META_LEVEL_SHIFT | 1,
			      memory_order_relaxed);
	if (level > 0) {
		atomic_store_explicit(&m->owner, owner, memory_order_relaxed);
		atomic_fetch_add(&pool->blocks.table_count, 1);
	}
}

uint32_t block_uses(struct ram_pool *pool, uint64_t block)
{
	return atomic_load(&pool->meta[block].count) & META_USES;
}

void block_ref(struct ram_pool *pool, uint64_t block)
{
	atomic_fetch_add(&pool->meta[block].count, 1);
}

bool block_unref(struct ram_thread *t, uint64_t block, bool swap)
{
	struct meta *m = &t->pool->meta[block];
	uint32_t count = atomic_load(&m->count);

	/* The last use is ours alone: counts never rise from there. */
	if ((count & META_USES) != 1) {
		count = atomic_fetch_sub(&m->count, 1);
		if ((count & META_USES) != 1)
			return false;
	}
	put_away(t, block, count >> META_LEVEL_SHIFT, swap);
	return true;
}

void block_retire(struct ram_thread *t, uint64_t block)
{
	atomic_fetch_sub(&t->pool->blocks.table_count, 1);
	put_away(t, block, 0, true);
}

void block_retire_charged(struct ram_thread *t, uint64_t block)
{
	atomic_fetch_sub(&t->pool->blocks.table_count, 1);
	put_away(t, block, 0, false);
}

/* Runs from the free map into the stock, as far as the bounds allow. */
static void refill_from_map(struct ram_thread *t, uint32_t want)
{
	struct ram_pool *pool = t->pool;
	struct blocks *b = &pool->blocks;
	struct run run[STOCK_RUNS];
	uint64_t used, most;
	unsigned n, i;

	lock_take(&b->lock);
	used = atomic_load(&b->landing_used);
	most = b->landing - min_u64(used, b->landing);
	most = min_u64(min_u64(most, want), freemap_room(b));
	n = most > 0 ? freemap_take_some(b, most, run, STOCK_RUNS) : 0;
	for (i = 0; i < n; i++) {
		atomic_fetch_add(&b->landing_used, run[i].count);
		stock_push(&t->stock, run[i]);
	}
	lock_drop(&b->lock);
}

/* Of a grouped pool: what is free holds no memory, so take some. */
static bool open_if_cold(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	bool cold;

	if (!b->grouped)
		return false;
	lock_take(&b->lock);
	cold = b->free_backed == 0 && b->free > 0 && freemap_room(b) > 0;
	lock_drop(&b->lock);
	return cold && group_open(pool) == 0;
}

static bool refill_once(struct ram_thread *t, uint32_t want)
{
	limbo_drain(t->pool, t);
	if (t->stock.blocks == 0)
		refill_from_map(t, want);
	if (t->stock.blocks == 0 && open_if_cold(t->pool))
		refill_from_map(t, want);
	return t->stock.blocks > 0;
}

/* A look at everything, others' stocks included. */
static bool refill_hard(struct ram_thread *t, uint32_t want)
{
	bool found;

	wait_look(t, true);
	block_collect(t->pool, t, true);
	limbo_push(t);
	epoch_advance(t->pool);
	found = refill_once(t, want);
	wait_look(t, false);
	return found;
}

/* What the housekeeper holds for a moment comes back too. */
static uint64_t in_hand(struct blocks *b)
{
	uint64_t n;

	lock_take(&b->lock);
	n = b->hand;
	lock_drop(&b->lock);
	return n;
}

int block_refill(struct ram_thread *t, uint32_t want)
{
	struct ram_pool *pool = t->pool;
	struct blocks *b = &pool->blocks;
	bool comes;

	want = min_u64(max_u64(want, 1), pool->landing_piece);
	if (!wait_others(t)) {
		limbo_push(t);
		epoch_advance(pool);
		if (refill_once(t, want))
			goto found;
	}
	/* Memory is short. In line first, then another look. */
	if (!wait_join(t))
		return -EAGAIN;
	/* Somebody holds landing, or freed blocks wait for their epoch? Asked
	 * before the look: what is on its way now may be there by then. */
	comes = atomic_load(&b->pending) > 0 ||
		atomic_load(&b->landing_used) > 0 || in_hand(b) > 0;
	if (refill_hard(t, want))
		goto found;
	if (comes) {
		keeper_wanted(pool);
		return -EAGAIN;
	}
	wait_done(t);
	return -ENOSPC;
found:
	/* It stays in line, if it was, until its call is through. */
	keeper_wanted(pool);
	return 0;
}

/* A payload received into one run costs less than one in many pieces; so look
 * for a long run where the stock has none. */
static bool take_long(struct ram_thread *t, uint32_t want, struct run *run)
{
	struct blocks *b = &t->pool->blocks;
	uint64_t used;

	run->count = 0;
	lock_take(&b->lock);
	used = atomic_load(&b->landing_used);
	if (used + want <= b->landing && freemap_room(b) >= want)
		*run = freemap_take(b, want);
	if (run->count > 0)
		atomic_fetch_add(&b->landing_used, run->count);
	lock_drop(&b->lock);
	return run->count > 0;
}

int block_take(struct ram_thread *t, uint32_t want, struct run *run)
{
	struct stock *s = &t->stock;
	int error;

	if (want >= LONG_RUN &&
	    (s->runs == 0 || s->run[s->runs - 1].count < LONG_RUN) &&
	    !wait_others(t)) {
		limbo_push(t);
		epoch_advance(t->pool);
		limbo_drain(t->pool, t);
		if ((s->runs == 0 || s->run[s->runs - 1].count < LONG_RUN) &&
		    take_long(t, want, run)) {
			keeper_wanted(t->pool);
			return 0;
		}
	}
	if (s->blocks == 0) {
		error = block_refill(t, STOCK_USUAL);
		if (error)
			return error;
	}
	*run = stock_pop(s, want);
	return 0;
}

/* A run for tables, or none. Under the lock. */
static struct run take_tables(struct blocks *b)
{
	struct run run = {.count = 0};
	uint64_t room;

	room = b->landing - min_u64(atomic_load(&b->landing_used), b->landing);
	room = min_u64(room, freemap_room(b));
	room = min_u64(room, b->landing / 16);
	room = min_u64(room, TABLES_AHEAD);
	if (room > 0)
		run = freemap_take(b, room);
	atomic_fetch_add(&b->landing_used, run.count);
	return run;
}

/* Set tables aside, with memory: for all of them at once, since each call to the
 * file waits for whoever writes to it. Takes the lock anew meanwhile. */
static void tables_refill(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	struct run run = take_tables(b);
	int error = 0;

	if (run.cold && run.count > 0) {
		lock_drop(&b->lock);
		error = backing_reserve(&pool->backing, run.first, run.count);
		lock_take(&b->lock);
		run.cold = error;
	}
	if (error || b->tables.count > 0) {
		/* No memory; or another thread was faster. */
		freemap_add(b, run);
		atomic_fetch_sub(&b->landing_used, run.count);
		return;
	}
	b->tables = run;
}

/* Tables lie together: they do not break up runs of data, and finding an entry
 * misses the translation buffers less often. */
static bool take_for_table(struct ram_pool *pool, struct run *run)
{
	struct blocks *b = &pool->blocks;

	lock_take(&b->lock);
	if (b->tables.count == 0)
		tables_refill(pool);
	*run = b->tables;
	if (run->count > 0) {
		run->count = 1;
		b->tables.first++;
		b->tables.count--;
	}
	lock_drop(&b->lock);
	return run->count > 0;
}

int block_take_backed(struct ram_thread *t, uint32_t *block)
{
	struct run run;
	int error;

	if (wait_others(t) || !take_for_table(t->pool, &run)) {
		error = block_take(t, 1, &run);
		if (error)
			return error;
	}
	if (run.cold) {
		error = backing_reserve(&t->pool->backing, run.first, 1);
		if (error) {
			block_untake(t, run);
			return error;
		}
	}
	*block = run.first;
	return 0;
}

void block_untake(struct ram_thread *t, struct run run)
{
	struct ram_pool *pool = t->pool;

	lock_take(&pool->blocks.lock);
	freemap_add(&pool->blocks, run);
	lock_drop(&pool->blocks.lock);
	atomic_fetch_sub(&pool->blocks.landing_used, run.count);
	wait_wake_first(pool);
}

void block_landed(struct ram_pool *pool, uint64_t n)
{
	if (n == 0)
		return;
	atomic_fetch_sub(&pool->blocks.landing_used, n);
	wait_wake_first(pool);
}

/* ------------------------------------------------------------ the keeper's */

uint32_t block_next_dead(struct ram_pool *pool, unsigned *level)
{
	struct blocks *b = &pool->blocks;
	uint32_t block = 0;
	unsigned l;

	lock_take(&b->lock);
	/* The lowest first, so that the list stays short. */
	for (l = 1; l <= LEVEL_MAX && block == 0; l++) {
		if (b->dead[l].count > 0) {
			block = list_pop(pool->meta, &b->dead[l]);
			*level = l;
			b->dead_count--;
		}
	}
	lock_drop(&b->lock);
	return block;
}

void block_free_dead(struct ram_pool *pool, uint32_t block)
{
	struct run run = {.first = block, .count = 1};

	lock_take(&pool->blocks.lock);
	freemap_add(&pool->blocks, run);
	lock_drop(&pool->blocks.lock);
	atomic_fetch_sub(&pool->blocks.table_count, 1);
	atomic_fetch_sub(&pool->blocks.pending, 1);
}

struct run block_hand_out(struct ram_pool *pool, bool warm, uint32_t most)
{
	struct blocks *b = &pool->blocks;
	struct run run;

	lock_take(&b->lock);
	run = warm && b->grouped ? freemap_take_whole(b)
				 : freemap_take_kind(b, most, warm);
	b->hand += run.count;
	lock_drop(&b->lock);
	return run;
}

void block_hand_in(struct ram_pool *pool, struct run run, bool warm)
{
	struct blocks *b = &pool->blocks;

	run.cold = !warm;
	lock_take(&b->lock);
	b->hand -= run.count;
	freemap_add(b, run);
	/* The counts of a group are a page: nobody's now, so give it back. */
	if (!warm && freemap_group_empty(b, run.first))
		madvise(&pool->meta[round_down(run.first, RUN_BLOCKS)],
			RUN_BLOCKS * sizeof(struct meta),
			pool->backing.lock ? MADV_DONTNEED_LOCKED
					   : MADV_DONTNEED);
	lock_drop(&b->lock);
	wait_wake_first(pool);
}

/* ------------------------------------------------------------ begin, end */

int blocks_init(struct ram_pool *pool, uint64_t blocks)
{
	void *meta = MAP_FAILED;
	int error;

	error = freemap_init(&pool->blocks, blocks);
	if (error)
		return error;
	if (!fault(RAM_FAULT_ALLOC))
		meta = mmap(NULL, blocks * sizeof(struct meta),
			    PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (meta == MAP_FAILED) {
		freemap_destroy(&pool->blocks);
		return -ENOMEM;
	}
	pool->meta = meta;
	lock_init(&pool->blocks.lock, RANK_BLOCKS);
	return 0;
}

void blocks_destroy(struct ram_pool *pool)
{
	if (!pool->meta)
		return;
	munmap(pool->meta, pool->blocks.total * sizeof(struct meta));
	pool->meta = NULL;
	freemap_destroy(&pool->blocks);
	lock_destroy(&pool->blocks.lock);
}

void blocks_expect(struct ram_pool *pool, uint64_t used)
{
	/* Memory is taken from the front, by and large. */
	used = min_u64(used, pool->blocks.total);
	madvise(pool->meta, round_up(used * sizeof(struct meta), BLOCK_SIZE),
		MADV_POPULATE_WRITE);
}

void blocks_free_unused(struct ram_pool *pool)
{
	struct run run = {.cold = true};
	uint64_t i;

	for (i = BLOCK_FIRST; i <= pool->blocks.total; i++) {
		if (i < pool->blocks.total &&
		    atomic_load_explicit(&pool->meta[i].count,
					 memory_order_relaxed) == 0) {
			if (run.count == 0)
				run.first = i;
			run.count++;
			if (run.count < RUN_BLOCKS)
				continue;
		}
		if (run.count > 0)
			freemap_add(&pool->blocks, run);
		run.count = 0;
	}
}
