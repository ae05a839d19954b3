/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing: fill free blocks, then exchange entries. See write.h, store.h. */
#include "write.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "fetch.h"
#include "pool.h"

/* A write of no more blocks does not look at what it replaces beforehand. */
#define FEW_BLOCKS 4

/* Whether overwriting this takes a block that is new to the disk. */
static inline bool needs_charge(struct ram_pool *pool, uint64_t entry)
{
	return !refers(entry) || block_uses(pool, entry) != 1;
}

uint64_t writer_need(struct writer *w, entry_t *entry, uint64_t n)
{
	uint64_t need = 0, i;

	for (i = 0; i < n; i++)
		need += needs_charge(
			w->disk->pool,
			atomic_load_explicit(&entry[i], memory_order_acquire));
	return need;
}

int writer_charge(struct writer *w, uint64_t n)
{
	int error = 0;

	if (n > 0)
		error = pool_charge(w->disk->pool, w->disk, w->thread, n);
	if (!error) {
		w->taken += n;
		w->charge += n;
	}
	return error;
}

/* What is outside [from, to) of the new block is as in the old one. */
static void copy_rest(struct ram_pool *pool, uint64_t old, uint32_t block,
		      unsigned from, unsigned to)
{
	const uint8_t *src = refers(old) ? pool_block(pool, old) : pool->zeroes;
	uint8_t *dst = pool_block(pool, block);

	memcpy(dst, src, from);
	memcpy(dst + to, src + to, BLOCK_SIZE - to);
}

static bool is_zero(const struct ram_pool *pool, uint32_t block)
{
	const uint64_t *words = pool_block(pool, block);

	return words[0] == 0 && memcmp(words, pool->zeroes, BLOCK_SIZE) == 0;
}

/* What was to be written is what a hole reads as. */
static void publish_hole(struct writer *w, entry_t *entry, uint32_t block)
{
	uint64_t old = publish(entry, ENTRY_HOLE);
	struct run run = {.first = block, .count = 1};

	if (refers(old) && block_unref(w->thread, old, false))
		charge_disown(w->disk->pool, w->disk, 1);
	block_untake(w->thread, run);
}

int writer_publish(struct writer *w, entry_t *entry, uint32_t block,
		   unsigned from, unsigned to)
{
	struct ram_pool *pool = w->disk->pool;
	uint64_t old = atomic_load_explicit(entry, memory_order_acquire);
	bool charged;
	int error;

	if (w->holes && from == 0 && to == BLOCK_SIZE && is_zero(pool, block)) {
		publish_hole(w, entry, block);
		return 0;
	}
	block_born(pool, block, 0, 0);
	for (;;) {
		charged = needs_charge(pool, old);
		if (charged && w->charge == 0) {
			error = writer_charge(w, 1);
			if (error)
				return error;
		}
		if (from > 0 || to < BLOCK_SIZE) {
			if (old == ENTRY_UNFETCHED)
				return -ENODATA;
			copy_rest(pool, old, block, from, to);
		}
		if (publish_exchange(entry, &old, block))
			break;
	}
	if (charged) {
		w->charge--;
		w->landed++;
	}
	if (refers(old))
		block_unref(w->thread, old, !charged);
	return 0;
}

void writer_done(struct writer *w)
{
	charge_settle(w->disk->pool, w->disk, w->taken, w->charge);
	block_landed(w->disk->pool, w->landed);
	w->taken = w->charge = w->landed = 0;
}

/* Payload bytes of a run of blocks that begins at disk offset `at`. */
struct piece {
	const uint8_t *buf; /* NULL: zeroes */
	uint64_t at;	    /* offset of the run's first block */
	uint64_t from, to;  /* the payload, from `at` */
};

/* Fill blocks that hold memory already. */
static void fill_warm(struct ram_pool *pool, const struct run *run,
		      const struct piece *p)
{
	uint8_t *to = pool_block(pool, run->first);

	if (p->buf)
		memcpy(to + p->from, p->buf, p->to - p->from);
	else
		memset(to + p->from, 0, p->to - p->from);
}

/* Fill blocks that hold none: whole ones by the file, which costs half of a
 * first touch; cut ones through the mapping once memory is there. */
static int fill_cold(struct ram_pool *pool, const struct run *run,
		     const struct piece *p)
{
	const struct backing *b = &pool->backing;
	uint64_t first = div_up(p->from, BLOCK_SIZE);
	uint64_t end = p->to / BLOCK_SIZE;
	const uint8_t *buf = p->buf ? p->buf + (first * BLOCK_SIZE - p->from)
				    : pool->zeroes;
	struct piece edge = *p;
	struct run one = *run;
	int error = 0;

	if (first > 0) {
		error = backing_reserve(b, run->first, 1);
		one.first = run->first;
		edge.to = min_u64(p->to, BLOCK_SIZE);
		if (!error)
			fill_warm(pool, &one, &edge);
	}
	if (!error && end > first) {
		/* The kernel lets one write at a time into a file, and makes
		 * the others spin: let them sleep. */
		pthread_mutex_lock(&pool->cold_mutex);
		error = backing_write(b, buf, run->first + first, end - first);
		pthread_mutex_unlock(&pool->cold_mutex);
	}
	if (!error && end >= first && p->to > end * BLOCK_SIZE) {
		error = backing_reserve(b, run->first + end, 1);
		one.first = run->first + end;
		edge.from = 0;
		edge.to = p->to - end * BLOCK_SIZE;
		if (p->buf)
			edge.buf = p->buf + (end * BLOCK_SIZE - p->from);
		if (!error)
			fill_warm(pool, &one, &edge);
	}
	return error;
}

/* What publishing will look at comes into the cache while the payload is
 * copied: the entries, and the counts of the blocks that they refer to now. */
static inline void foresee(struct ram_pool *pool, entry_t *entry, uint64_t n)
{
	uint64_t i, old;

	for (i = 0; i < n; i++) {
		old = atomic_load_explicit(&entry[i], memory_order_relaxed);
		__builtin_prefetch(&pool->meta[refers(old) ? old : 0], 1);
	}
}

/* Publish the blocks of a filled run; those that could not be go back. Returns
 * how many were. */
static unsigned publish_run(struct writer *w, entry_t *entry, struct run run,
			    const struct piece *p, int *error)
{
	unsigned i, from, to;

	*error = 0;
	for (i = 0; i < run.count; i++) {
		from = i == 0 ? p->from : 0;
		to = min_u64(p->to - (uint64_t)i * BLOCK_SIZE, BLOCK_SIZE);
		*error = writer_publish(w, &entry[i], run.first + i, from, to);
		if (*error)
			break;
	}
	if (i < run.count) {
		run.first += i;
		run.count -= i;
		run.cold = false;
		block_untake(w->thread, run);
	}
	return i;
}

/* Where the write stands after its thread has stepped out: the disk may have been
 * frozen, cut or cloned. */
static int find_again(struct ram_disk *disk, struct ram_thread *t,
		      const struct piece *p, entry_t **entry)
{
	int error = disk_writable(disk, t);

	if (!error && !disk_holds(disk, p->to, p->at))
		error = -EINVAL;
	if (!error)
		error = tree_leaf_for_write(disk, t, p->at / BLOCK_SIZE, entry);
	return error;
}

/* Fill a run with its piece; *entry is that of its first block, before and
 * afterwards. Whether the blocks hold memory afterwards stands in run->cold. */
static int fill(struct ram_disk *disk, struct ram_thread *t, struct run *run,
		const struct piece *p, entry_t **entry)
{
	struct ram_pool *pool = disk->pool;
	unsigned depth;
	int error;

	if (!run->cold) {
		fill_warm(pool, run, p);
		return 0;
	}
	/* Not inside: a clone would have to wait for all who stand before the
	 * mutex. */
	depth = thread_step_out(t);
	error = fill_cold(pool, run, p);
	if (error)
		/* Some of it may hold memory now. */
		backing_punch(&pool->backing, run->first, run->count);
	else
		run->cold = false;
	thread_step_in(t, depth);
	return error ? error : find_again(disk, t, p, entry);
}

int64_t write_leaf(struct ram_disk *disk, struct ram_thread *t, const void *buf,
		   uint64_t len, uint64_t off)
{
	struct ram_pool *pool = disk->pool;
	/* Zeroes that come from here are to be kept, or part of a block. */
	struct writer w = {
		.disk = disk,
		.thread = t,
		.holes = buf && disk_wants_holes(disk),
	};
	uint64_t first = off / BLOCK_SIZE, n, i = 0, end = off + len, stop;
	struct piece p;
	struct run run;
	entry_t *entry;
	unsigned done;
	int error;

	n = (end - 1) / BLOCK_SIZE - first + 1;
	error = tree_leaf_for_write(disk, t, first, &entry);
	/* So few are charged one by one if need be. */
	if (!error && n <= FEW_BLOCKS)
		foresee(pool, entry, n);
	else if (!error)
		error = writer_charge(&w, writer_need(&w, entry, n));
	while (!error && i < n) {
		error = block_take(t, n - i, &run);
		if (error)
			break;
		p.at = (first + i) * BLOCK_SIZE;
		p.from = i == 0 ? off - p.at : 0;
		stop = min_u64(end, p.at + (uint64_t)run.count * BLOCK_SIZE);
		p.to = stop - p.at;
		p.buf = buf ? (const uint8_t *)buf + (p.at + p.from - off)
			    : NULL;
		error = fill(disk, t, &run, &p, &entry);
		if (error) {
			block_untake(t, run);
			break;
		}
		done = publish_run(&w, entry, run, &p, &error);
		i += done;
		entry += done;
	}
	writer_done(&w);
	if (i == 0)
		return error == -ENODATA ? fetch_wait(disk, t, first) : error;
	return min_u64(end, (first + i) * BLOCK_SIZE) - off;
}

int64_t ram_disk_write(struct ram_disk *disk, struct ram_thread *t,
		       const void *buf, uint64_t len, uint64_t off)
{
	const uint64_t reach = TABLE_ENTRIES * BLOCK_SIZE;
	uint64_t done = 0, here;
	int64_t result = 0;

	do {
		ram_epoch_enter(t);
		result = disk_writable(disk, t);
		if (!result && !disk_holds(disk, len - done, off + done))
			result = -EINVAL;
		here = min_u64(len - done, reach - (off + done) % reach);
		if (!result && here > 0)
			result = write_leaf(disk, t,
					    (const uint8_t *)buf + done, here,
					    off + done);
		thread_leave(t, result);
		if (result > 0)
			done += result;
	} while (result > 0 && done < min_u64(len, RAM_PIECE));
	if (done > 0) {
		wait_done(t);
		return done;
	}
	return result;
}
