/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may take how much. See charge.h. */
#include "charge.h"

#include <errno.h>

#include "check.h"
#include "disk.h"
#include "headroom.h"
#include "keeper.h"
#include "pool.h"

/* What a disk's guarantee still promises. */
static uint64_t unfilled(const struct ram_disk *disk)
{
	return disk->guarantee > disk->own ? disk->guarantee - disk->own : 0;
}

static void own_set(struct charge *c, struct ram_disk *disk, uint64_t own)
{
	c->promised -= unfilled(disk);
	disk->own = own;
	c->promised += unfilled(disk);
}

int charge_take(struct ram_pool *pool, struct ram_disk *disk, uint64_t n,
		bool asked)
{
	struct charge *c = &pool->charge;
	uint64_t promised, others;
	int error = 0;

	lock_take(&c->lock);
	promised = disk ? min_u64(unfilled(disk), n) : 0;
	others = c->promised - promised;
	if (disk && disk->quota && disk->own + n > disk->quota)
		error = -EDQUOT;
	else if (c->used + n + others > c->limit)
		error = -ENOSPC;
	/* What is promised has its memory already. */
	else if (promised < n && c->used + n + others + pool->blocks.landing >
					 (asked ? c->most : c->allowed))
		error = -ENOBUFS;
	if (!error) {
		c->used += n;
		c->flight += n;
		if (disk)
			own_set(c, disk, disk->own + n);
	}
	lock_drop(&c->lock);
	return error;
}

void charge_settle(struct ram_pool *pool, struct ram_disk *disk, uint64_t taken,
		   uint64_t unused)
{
	struct charge *c = &pool->charge;

	if (taken == 0)
		return;
	lock_take(&c->lock);
	c->flight -= taken;
	c->used -= unused;
	if (disk && unused > 0)
		own_set(c, disk, disk->own - min_u64(disk->own, unused));
	lock_drop(&c->lock);
	wait_wake_first(pool);
}

void charge_disown(struct ram_pool *pool, struct ram_disk *disk, uint64_t n)
{
	if (n == 0)
		return;
	lock_take(&pool->charge.lock);
	own_set(&pool->charge, disk, disk->own - min_u64(disk->own, n));
	lock_drop(&pool->charge.lock);
}

void charge_freed(struct ram_pool *pool, uint64_t n)
{
	lock_take(&pool->charge.lock);
	pool->charge.used -= n;
	lock_drop(&pool->charge.lock);
}

int charge_set(struct ram_pool *pool, struct ram_disk *disk, uint64_t own,
	       uint64_t quota, uint64_t guarantee, bool force)
{
	struct charge *c = &pool->charge;
	uint64_t before, after, all;
	int error = 0;

	/* What is promised is populated at once. */
	if (guarantee > 0 && !force)
		headroom_look(pool);
	lock_take(&c->lock);
	if (own == CHARGE_KEEP)
		own = disk->own;
	if (quota == CHARGE_KEEP)
		quota = disk->quota;
	before = unfilled(disk);
	after = guarantee > own ? guarantee - own : 0;
	all = c->used + c->promised - before + after;
	if (!force && after > before &&
	    (all > c->limit || all + pool->blocks.landing > c->most)) {
		error = -ENOSPC;
	} else {
		c->promised += after - before;
		disk->own = own;
		disk->quota = quota;
		disk->guarantee = guarantee;
	}
	lock_drop(&c->lock);
	return error;
}

uint64_t charge_own(struct ram_pool *pool, struct ram_disk *disk)
{
	uint64_t own;

	lock_take(&pool->charge.lock);
	own = disk->own;
	lock_drop(&pool->charge.lock);
	return own;
}

void charge_recount(struct ram_pool *pool, struct ram_disk *disk,
		    uint64_t before, uint64_t found)
{
	struct charge *c = &pool->charge;

	lock_take(&c->lock);
	if (disk->own >= before)
		found += disk->own - before;
	else
		found -= min_u64(found, before - disk->own);
	own_set(c, disk, found);
	lock_drop(&c->lock);
	wait_wake_first(pool);
}

void charge_forget(struct ram_pool *pool, struct ram_disk *disk)
{
	charge_set(pool, disk, 0, 0, 0, true);
	wait_wake_first(pool);
}

/* Whether charged blocks may become free without anybody's doing. */
static bool may_come_back(struct ram_pool *pool)
{
	uint64_t flight;

	lock_take(&pool->charge.lock);
	flight = pool->charge.flight;
	lock_drop(&pool->charge.lock);
	return flight > 0 || atomic_load(&pool->blocks.pending) > 0;
}

/* As charge_take(), but the host is asked anew when its last answer has been used
 * up. */
static int charge_asking(struct ram_pool *pool, struct ram_disk *disk,
			 uint64_t n)
{
	int error = charge_take(pool, disk, n, false);

	if (error != -ENOBUFS)
		return error;
	headroom_look(pool);
	error = charge_take(pool, disk, n, true);
	return error == -ENOBUFS ? -ENOSPC : error;
}

/* Freed blocks stay charged until their epoch is over: help it along. */
static int charge_again(struct ram_pool *pool, struct ram_disk *disk,
			struct ram_thread *t, uint64_t n)
{
	wait_look(t, true);
	limbo_push(t);
	block_collect(pool, t, false);
	epoch_advance(pool);
	limbo_drain(pool, NULL);
	wait_look(t, false);
	return charge_asking(pool, disk, n);
}

int pool_charge(struct ram_pool *pool, struct ram_disk *disk,
		struct ram_thread *t, uint64_t n)
{
	int error = charge_asking(pool, disk, n);
	bool comes;

	if (error == -ENOSPC) {
		/* In line before the last look, so that no wake-up is lost;
		 * and asked before it, since what is on its way now may have
		 * come by then. */
		wait_join(t);
		comes = may_come_back(pool);
		error = charge_again(pool, disk, t, n);
		if (error == -ENOSPC && comes) {
			keeper_wanted(pool);
			return -EAGAIN;
		}
	}
	/* On success it stays in line until its call is through: there may be
	 * more to wait for. */
	if (!error)
		return 0;
	wait_done(t);
	atomic_fetch_add(&pool->refusals, 1);
	return -ENOSPC;
}

uint64_t charge_whole(uint64_t size)
{
	uint64_t n = disk_blocks(size), all = n;
	unsigned level = disk_level(size);

	while (level-- > 0) {
		n = div_up(n, TABLE_ENTRIES);
		all += n;
	}
	return all;
}
