/* SPDX-License-Identifier: BSD-3-Clause */
/* See headroom.h. */
#include "headroom.h"

#include <time.h>

#include "check.h"
#include "fault.h"
#include "hostmem.h"
#include "pool.h"
#include "settings.h"
#include "store.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* Nobody says how many blocks more; no bound that is felt. */
#define UNKNOWN (UINT64_MAX / 4)

/* An answer is good for so long, whatever has been taken since: many who are
 * refused ask. */
#define LOOK_NSEC 5000000

/* In a control group only this process and its kernel memory need some: a
 * sixteenth of its limit, at least. */
#define GROUP_SHARE 16
#define GROUP_LEAST (8 * MIB)

uint64_t headroom_usual(uint64_t total)
{
	return min_u64(max_u64(GIB, total / 10), total / 4);
}

uint64_t headroom_group(uint64_t limit, uint64_t headroom)
{
	return min_u64(headroom, max_u64(limit / GROUP_SHARE, GROUP_LEAST));
}

uint64_t headroom_backed(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	uint64_t n;

	lock_take(&b->lock);
	n = b->total - b->free + b->free_backed;
	lock_drop(&b->lock);
	return n;
}

static uint64_t above(uint64_t have, uint64_t keep)
{
	return have > keep ? have - keep : 0;
}

/* Bytes that may be taken. *headroom: that of the host; it becomes a group's where
 * that has less. */
static uint64_t spare(const struct host_memory *host, uint64_t *headroom)
{
	uint64_t all = above(host->available, *headroom), group, keep;

	if (host->cgroup_left == UINT64_MAX)
		return all;
	keep = headroom_group(host->cgroup_left_of, *headroom);
	group = above(host->cgroup_left, keep);
	if (group < all)
		*headroom = keep;
	return min_u64(group, all);
}

void headroom_look(struct ram_pool *pool)
{
	struct charge *c = &pool->charge;
	struct host_memory host;
	struct timespec ts;
	bool fresh;
	uint64_t now, backed, more = UNKNOWN, headroom = 0;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	lock_take(&c->lock);
	fresh = c->looked != 0 && now - c->looked < LOOK_NSEC;
	lock_drop(&c->lock);
	if (fresh)
		return;
	/* A host that does not tell has no say. */
	if (pool->backing.huge) {
		more = settings_huge_free() / BLOCK_SIZE;
	} else if (pool->headroom > 0 && ram_host_read(&host) == 0) {
		headroom = pool->headroom == RAM_DEFAULT
				   ? headroom_usual(host.total)
				   : pool->headroom;
		more = spare(&host, &headroom) / BLOCK_SIZE;
	}
	backed = headroom_backed(pool);
	lock_take(&c->lock);
	/* With the answer, never before it. */
	c->looked = now;
	c->allowed = backed + more / 2;
	c->most = backed + more;
	c->pressed = more == 0;
	c->keep = headroom;
	c->spare = more == UNKNOWN ? UINT64_MAX : more * BLOCK_SIZE;
	lock_drop(&c->lock);
}

bool headroom_spares(struct ram_pool *pool, uint64_t n)
{
	struct charge *c = &pool->charge;
	uint64_t backed = headroom_backed(pool);
	unsigned tries;
	bool yes = false;

	for (tries = 0; tries < 2 && !yes; tries++) {
		if (tries > 0)
			headroom_look(pool);
		lock_take(&c->lock);
		yes = backed + n <= c->allowed;
		lock_drop(&c->lock);
	}
	return yes;
}
