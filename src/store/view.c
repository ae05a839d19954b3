/* SPDX-License-Identifier: BSD-3-Clause */
/* Lending memory: a disk's blocks for sending, landing blocks for receiving.
 * See store.h. */
#include <errno.h>
#include <string.h>

#include "bounce.h"
#include "check.h"
#include "disk.h"
#include "fetch.h"
#include "keeper.h"
#include "tree.h"
#include "write.h"

enum view_kind {
	VIEW_NONE,
	VIEW_LENT,
	VIEW_STAGED,
};

/* --------------------------------------------------------------- sending */

/* Add bytes to the last piece if they follow it, else as a new one. */
static bool add_piece(struct ram_view *view, const uint8_t *base, uint64_t len)
{
	struct iovec *last = view->count ? &view->iov[view->count - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == base) {
		last->iov_len += len;
	} else {
		if (view->count == RAM_VIEW_MAX)
			return false;
		view->iov[view->count].iov_base = (void *)base;
		view->iov[view->count].iov_len = len;
		view->count++;
	}
	view->len += len;
	return true;
}

/* Only the lending thread writes its own counters: no locked instruction. */
static void add_own(_Atomic uint64_t *counter, int64_t n)
{
	atomic_store_explicit(
		counter,
		atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_release);
}

int ram_disk_view(struct ram_disk *disk, struct ram_thread *t, uint64_t len,
		  uint64_t off, struct ram_view *view)
{
	struct ram_pool *pool = disk->pool;
	uint64_t at = off, end = off + len, entry, here, n;
	struct tree_span span;
	int error = 0;

	view->count = 0;
	view->len = 0;
	view->off = off;
	view->disk = disk;
	view->thread = t;
	view->kind = VIEW_NONE;
	ram_epoch_enter(t);
	if (!disk_holds(disk, len, off)) {
		error = -EINVAL;
		goto out;
	}
	while (at < end) {
		tree_span(pool, atomic_load(&disk->root), at / BLOCK_SIZE,
			  &span);
		if (span.leaf) {
			entry = atomic_load_explicit(span.leaf,
						     memory_order_acquire);
			n = 1;
		} else {
			entry = span.fill;
			n = min_u64(span.count, RUN_BLOCKS);
		}
		if (entry == ENTRY_UNFETCHED) {
			error = view->len > 0
					? 0
					: fetch_wait(disk, t, at / BLOCK_SIZE);
			break;
		}
		here = min_u64(n * BLOCK_SIZE - at % BLOCK_SIZE, end - at);
		if (!add_piece(view,
			       entry == ENTRY_HOLE
				       ? pool->zeroes
				       : (uint8_t *)pool_block(pool, entry) +
						 at % BLOCK_SIZE,
			       here))
			break;
		at += here;
	}
	if (error)
		goto out;
	view->kind = VIEW_LENT;
	view->epoch = t->epoch;
	/* Others see it before they see us leave. */
	add_own(&t->lent[t->epoch % EPOCH_RING], 1);
	add_own(&t->lent_all, 1);
out:
	ram_epoch_leave(t);
	return error;
}

void ram_view_copy(const struct ram_view *view, void *buf)
{
	uint8_t *to = buf;
	unsigned i;

	for (i = 0; i < view->count; i++) {
		memcpy(to, view->iov[i].iov_base, view->iov[i].iov_len);
		to += view->iov[i].iov_len;
	}
}

static void return_lent(struct ram_view *view, struct ram_thread *t)
{
	struct ram_thread *lender = view->thread;
	unsigned slot = view->epoch % EPOCH_RING;

	if (t == lender) {
		add_own(&t->lent[slot], -1);
		add_own(&t->lent_all, -1);
	} else {
		/* In this order: the sum says "none" only after the slot. */
		atomic_fetch_add(&lender->returned[slot], 1);
		atomic_fetch_add(&lender->returned_all, 1);
	}
}

/* ------------------------------------------------------------- receiving */

/* A place in a staged view: piece number i, before which so many bytes lie. It
 * only moves forward. */
struct place {
	unsigned i;
	uint64_t before;
};

/* The block at which byte `done` of a staged view lies, and how many of the
 * view's blocks follow it in the same piece, itself included. */
static uint32_t staged_block(const struct ram_view *view, struct place *place,
			     uint64_t done, uint64_t *following)
{
	const struct ram_pool *pool = view->disk->pool;
	const uint8_t *base;
	uint64_t end, before;

	if (view->cold) {
		end = div_up(view->off % BLOCK_SIZE + view->len, BLOCK_SIZE);
		before = (view->off % BLOCK_SIZE + done) / BLOCK_SIZE;
		*following = end - before;
		return view->cold + before;
	}
	while (place->before + view->iov[place->i].iov_len <= done)
		place->before += view->iov[place->i++].iov_len;
	base = (const uint8_t *)view->iov[place->i].iov_base +
	       (done - place->before);
	end = (uint64_t)((const uint8_t *)view->iov[place->i].iov_base +
			 view->iov[place->i].iov_len - pool->backing.base);
	*following = div_up(end, BLOCK_SIZE) -
		     (uint64_t)(base - pool->backing.base) / BLOCK_SIZE;
	return (uint64_t)(base - pool->backing.base) / BLOCK_SIZE;
}

static void unstage(struct ram_view *view, struct ram_thread *t)
{
	uint64_t n, off;
	struct run run = {.cold = view->cold};
	struct place place = {0};

	while (view->done < view->len) {
		off = view->off + view->done;
		run.first = staged_block(view, &place, view->done, &n);
		run.count = min_u64(n, RUN_BLOCKS);
		block_untake(t ? t : view->thread, run);
		view->done = round_down(off, BLOCK_SIZE) +
			     (uint64_t)run.count * BLOCK_SIZE - view->off;
	}
	bounce_drop(view);
	charge_settle(view->disk->pool, view->disk, view->charge, view->charge);
	view->charge = 0;
}

void ram_view_release(struct ram_view *view, struct ram_thread *t)
{
	if (view->kind == VIEW_LENT)
		return_lent(view, t);
	else if (view->kind == VIEW_STAGED)
		unstage(view, t);
	view->kind = VIEW_NONE;
}

/* Tables for [off, off+len) are there and ours, and what the data will need
 * beside what it replaces is charged. */
static int stage_charge(struct writer *w, uint64_t len, uint64_t off)
{
	uint64_t first = off / BLOCK_SIZE, end = div_up(off + len, BLOCK_SIZE);
	uint64_t need = 0, n;
	entry_t *entry;
	int error;

	while (first < end) {
		n = min_u64(TABLE_ENTRIES - first % TABLE_ENTRIES, end - first);
		error = tree_leaf_for_write(w->disk, w->thread, first, &entry);
		if (error)
			return error;
		need += writer_need(w, entry, n);
		first += n;
	}
	return writer_charge(w, need);
}

/* Memory for a run that has none, which takes the kernel a while: no clone should
 * have to wait for it. */
static int stage_populate(struct ram_thread *t, const struct run *run)
{
	unsigned depth = thread_step_out(t);
	int error = pool_fill(t->pool, run);

	thread_step_in(t, depth);
	return error;
}

/* So many blocks at least are worth going round by the buffer. */
#define BOUNCE_LEAST 16u

/* Where the payload for a run, of `blocks` that the view is to have still, is
 * received. NULL: *error, or 0 if the view should end before this run. */
static uint8_t *stage_place(struct ram_view *view, struct ram_thread *t,
			    const struct run *run, uint64_t blocks, int *error)
{
	uint8_t *buf = NULL;

	*error = 0;
	if (run->cold && run->count >= min_u64(blocks, BOUNCE_LEAST) &&
	    bounce_possible(view, t)) {
		/* It is a view of its own. */
		if (view->count > 0)
			return NULL;
		buf = bounce_take(view, t, run);
	}
	if (!buf && run->cold)
		*error = stage_populate(t, run);
	if (*error)
		return NULL;
	return buf ? buf : pool_block(t->pool, run->first);
}

/* Blocks for the payload, as many as pieces hold. */
static int stage_take(struct ram_view *view, struct ram_thread *t, uint64_t len)
{
	uint64_t at = view->off, end = view->off + len, here, blocks;
	struct run run;
	uint8_t *place;
	int error;

	while (at < end && view->count < RAM_VIEW_MAX && !view->cold) {
		blocks = div_up(end, BLOCK_SIZE) - at / BLOCK_SIZE;
		error = block_take(t, min_u64(blocks, RUN_BLOCKS), &run);
		if (error)
			return error;
		place = stage_place(view, t, &run, blocks, &error);
		if (!place) {
			block_untake(t, run);
			return error;
		}
		here = min_u64((uint64_t)run.count * BLOCK_SIZE -
				       at % BLOCK_SIZE,
			       end - at);
		add_piece(view, place + at % BLOCK_SIZE, here);
		at += here;
	}
	return 0;
}

uint64_t ram_pool_piece(struct ram_pool *pool)
{
	return min_u64(RAM_PIECE, pool->landing_piece * BLOCK_SIZE);
}

/* Whether landing has room for so many bytes and the last piece besides. Such
 * waiting is not in line: those who only swap blocks need not stand behind it. */
static bool landing_has_room(struct ram_pool *pool, uint64_t len)
{
	uint64_t want = div_up(len, BLOCK_SIZE) + 1 + pool->landing_piece;

	if (atomic_load(&pool->blocks.landing_used) + want <=
	    pool->blocks.landing)
		return true;
	atomic_store(&pool->landing_wanted, true);
	keeper_wanted(pool);
	return atomic_load(&pool->blocks.landing_used) + want <=
	       pool->blocks.landing;
}

int ram_disk_stage(struct ram_disk *disk, struct ram_thread *t, uint64_t len,
		   uint64_t off, unsigned flags, struct ram_view *view)
{
	struct writer w = {.disk = disk, .thread = t};
	int error;

	view->count = 0;
	view->len = view->done = 0;
	view->off = off;
	view->disk = disk;
	view->thread = t;
	view->charge = 0;
	view->cold = 0;
	view->kind = VIEW_NONE;
	ram_epoch_enter(t);
	error = disk_writable(disk, t);
	if (!error && !disk_holds(disk, len, off))
		error = -EINVAL;
	if (error || len == 0)
		goto out;
	if (len > ram_pool_piece(t->pool))
		len = round_down(off + ram_pool_piece(t->pool), BLOCK_SIZE) -
		      off;
	if (!(flags & RAM_LAST) && !landing_has_room(t->pool, len)) {
		/* Not in line, where an earlier call may have left it: nobody
		 * behind it would ever have a turn. */
		wait_done(t);
		error = -EAGAIN;
		goto out;
	}
	if (!(flags & RAM_UNCHARGED)) {
		/* Or what waits for it would hold what it comes to. */
		error = fetch_edges(disk, t, len, off);
		if (!error)
			error = stage_charge(&w, len, off);
	}
	if (error)
		goto out;
	view->kind = VIEW_STAGED;
	view->charge = w.charge;
	error = stage_take(view, t, len);
	if (error == -EAGAIN && view->len > 0)
		error = 0; /* less than asked for is fine */
	if (error) {
		unstage(view, t);
		view->kind = VIEW_NONE;
	}
out:
	return thread_leave(t, error);
}

/* So many entries ahead does publishing fetch the counts that it will change. */
#define AHEAD 8

/* The counts of the block that is replaced a little later, and of the one that
 * replaces it, come into the cache meanwhile: scattered ones are never there. */
static inline void look_ahead(const struct ram_view *view,
			      const struct place *place, const entry_t *entry,
			      uint64_t slot)
{
	const struct ram_pool *pool = view->disk->pool;
	uint64_t old = 0, next;

	if (slot + AHEAD < TABLE_ENTRIES)
		old = atomic_load_explicit(&entry[AHEAD], memory_order_relaxed);
	if (refers(old))
		__builtin_prefetch(&pool->meta[old], 1);
	if (place->i + AHEAD < view->count) {
		next = (uint8_t *)view->iov[place->i + AHEAD].iov_base -
		       pool->backing.base;
		__builtin_prefetch(&pool->meta[next / BLOCK_SIZE], 1);
	}
}

int ram_view_filled(struct ram_view *view)
{
	int error;

	ram_epoch_enter(view->thread);
	error = bounce_write(view);
	ram_epoch_leave(view->thread);
	return error;
}

int ram_view_publish(struct ram_view *view)
{
	struct ram_thread *t = view->thread;
	struct writer w = {
		.disk = view->disk,
		.thread = t,
		.taken = view->charge,
		.charge = view->charge,
		.holes = disk_wants_holes(view->disk),
	};
	struct place place = {0};
	uint64_t off, slot, n;
	entry_t *entry = NULL;
	unsigned from, to;
	uint32_t block;
	int error;

	ram_epoch_enter(t);
	error = bounce_write(view);
	if (!error)
		error = disk_writable(view->disk, t);
	if (!error && !disk_holds(view->disk, view->len, view->off))
		error = -EINVAL; /* it shrank meanwhile */
	while (!error && view->done < view->len) {
		off = view->off + view->done;
		slot = off / BLOCK_SIZE % TABLE_ENTRIES;
		from = off % BLOCK_SIZE;
		to = min_u64(from + (view->len - view->done), BLOCK_SIZE);
		if (!entry || slot == 0)
			error = tree_leaf_for_write(view->disk, t,
						    off / BLOCK_SIZE, &entry);
		if (error)
			break;
		block = staged_block(view, &place, view->done, &n);
		look_ahead(view, &place, entry, slot);
		error = writer_publish(&w, entry, block, from, to);
		if (!error) {
			view->done += to - from;
			entry++;
		}
	}
	if (view->done == view->len || error) {
		/* What is left over serves another try, or is not needed. */
		view->charge = view->done == view->len ? 0 : w.charge;
		w.charge -= view->charge;
		w.taken -= view->charge;
	}
	writer_done(&w);
	if (error == -ENODATA)
		error = fetch_wait(view->disk, t,
				   (view->off + view->done) / BLOCK_SIZE);
	return thread_leave(t, error);
}
