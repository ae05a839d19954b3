/* SPDX-License-Identifier: BSD-3-Clause */
/* See group.h. */
#include "group.h"

#include <errno.h>

#include "check.h"
#include "freemap.h"
#include "pool.h"

int group_open(struct ram_pool *pool)
{
	struct run run = block_hand_out(pool, false, RUN_BLOCKS);
	int error;

	if (run.count == 0)
		return -ENOSPC;
	error = backing_reserve(&pool->backing, run.first, run.count);
	if (error)
		backing_punch(&pool->backing, run.first, run.count);
	block_hand_in(pool, run, !error);
	return error;
}

void group_fill(struct ram_pool *pool)
{
	struct blocks *b = &pool->blocks;
	struct run run = {
		.first = BLOCK_FIRST,
		.count = RUN_BLOCKS - BLOCK_FIRST,
	};

	freemap_add(b, run);
	run.count = RUN_BLOCKS;
	run.cold = true;
	for (run.first = RUN_BLOCKS; run.first < b->total;
	     run.first += RUN_BLOCKS)
		freemap_add(b, run);
}

static bool in_use(const struct ram_pool *pool, uint64_t block)
{
	return block < BLOCK_FIRST ||
	       atomic_load_explicit(&pool->meta[block].count,
				    memory_order_relaxed) > 0;
}

/* Blocks of a group that is in use, as far as they are free. */
static void add_free(struct ram_pool *pool, uint64_t first)
{
	struct run run = {.count = 0};
	uint64_t i;

	for (i = first; i <= first + RUN_BLOCKS; i++) {
		if (i < first + RUN_BLOCKS && !in_use(pool, i)) {
			if (run.count++ == 0)
				run.first = i;
		} else if (run.count > 0) {
			freemap_add(&pool->blocks, run);
			run.count = 0;
		}
	}
}

int group_take_over(struct ram_pool *pool, struct ram_why *why)
{
	struct run empty = {.count = RUN_BLOCKS, .cold = true};
	uint64_t first, i, end;

	for (first = 0; first < pool->blocks.total; first = end) {
		end = first + RUN_BLOCKS;
		for (i = first; i < end && !in_use(pool, i); i++)
			;
		if (i == end) {
			backing_punch(&pool->backing, first, RUN_BLOCKS);
			empty.first = first;
			freemap_add(&pool->blocks, empty);
		} else if (backing_reserve(&pool->backing, first, RUN_BLOCKS)) {
			return why_set(why, -ENOSPC,
				       "%s: no memory for the rest of a group "
				       "of 2 MiB; free some, or leave "
				       "hugepages out",
				       backing_name(&pool->backing));
		} else {
			add_free(pool, first);
		}
	}
	return 0;
}
