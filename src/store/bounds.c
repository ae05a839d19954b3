/* SPDX-License-Identifier: BSD-3-Clause */
/* See bounds.h. */
#include "bounds.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "fault.h"
#include "headroom.h"
#include "hostmem.h"
#include "settings.h"

#define MIB (UINT64_C(1) << 20)

/* Landing: the larger of 64 MiB and 1/64 of the pool, at most an eighth. */
#define LANDING_LEAST (64 * MIB)

static int no_huge(const struct backing *backing, uint64_t size,
		   struct ram_why *why)
{
	uint64_t have = settings_huge_free() + backing_occupied(backing);

	return why_set(why, -ENOSPC,
		       "hugepages=2M: a pool of %llu MiB needs %llu huge pages "
		       "of 2 MiB, and %llu are free: set more aside (sysctl "
		       "vm.nr_hugepages), make the pool smaller, or leave "
		       "hugepages out",
		       (unsigned long long)(div_up(size, MIB)),
		       (unsigned long long)div_up(size, 2 * MIB),
		       (unsigned long long)(have / (2 * MIB)));
}

/* Huge pages are no longer the host's: all of them may be had. */
static int default_huge(const struct backing *backing, uint64_t held,
			uint64_t *size, struct ram_why *why)
{
	uint64_t most = settings_huge_free() + held;

	most = min_u64(min_u64(most, backing_room(backing)), RAM_POOL_MAX);
	*size = round_down(most, RUN_BLOCKS * (uint64_t)BLOCK_SIZE);
	return *size ? 0 : no_huge(backing, RAM_POOL_MIN, why);
}

int bounds_fit(const struct backing *backing, uint64_t size,
	       struct ram_why *why)
{
	uint64_t held = backing_occupied(backing);

	if (backing->huge && size > settings_huge_free() + held)
		return no_huge(backing, size, why);
	if (size <= backing_room(backing))
		return 0;
	return why_set(why, -ENOSPC,
		       "%s: the file system can hold %llu MiB of the pool's "
		       "%llu; make it larger or the pool smaller",
		       backing->path,
		       (unsigned long long)backing_room(backing) >> 20,
		       (unsigned long long)size >> 20);
}

int bounds_default(const struct backing *backing, uint64_t held,
		   uint64_t headroom, uint64_t *size, struct ram_why *why)
{
	struct host_memory host;
	uint64_t most, group;
	int error;

	if (backing->huge)
		return default_huge(backing, held, size, why);
	error = ram_host_read(&host);
	if (error)
		return why_set(
			why, error,
			"cannot read how much memory there is (%s); give "
			"the pool's size",
			strerror(-error));
	if (headroom == RAM_DEFAULT)
		headroom = headroom_usual(host.total);
	most = host.available + held;
	if (host.cgroup_max < UINT64_MAX) {
		/* A group needs less for itself than the host does. */
		group = headroom_group(host.cgroup_max, headroom);
		if (host.cgroup_max - min_u64(host.cgroup_max, group) <
		    most - min_u64(most, headroom)) {
			most = host.cgroup_max;
			headroom = group;
		}
	}
	if (most < headroom + RAM_POOL_MIN && held > 0) {
		*size = RAM_POOL_MIN; /* what it holds decides */
		return 0;
	}
	if (most < headroom + RAM_POOL_MIN)
		return why_set(
			why, -ENOMEM,
			"only %llu MiB of memory are left, of which %llu "
			"MiB are for the host itself; free some, or give "
			"the pool's size or a smaller headroom",
			(unsigned long long)(most / MIB),
			(unsigned long long)(headroom / MIB));
	most = min_u64(most - headroom, backing_room(backing));
	*size = round_down(min_u64(most, RAM_POOL_MAX), BLOCK_SIZE);
	if (*size < RAM_POOL_MIN && held > 0)
		*size = RAM_POOL_MIN;
	if (*size < RAM_POOL_MIN)
		return why_set(why, -ENOSPC,
			       "%s: the file system has only %llu KiB left",
			       backing->path,
			       (unsigned long long)(*size / 1024));
	return 0;
}

int bounds_set(struct ram_pool *pool, uint64_t size)
{
	struct blocks *b = &pool->blocks;
	struct charge *c = &pool->charge;
	uint64_t blocks = size / BLOCK_SIZE, limit, landing;
	int error = 0;

	/* The counts of all its blocks are part of the pool's size too. */
	limit = blocks - div_up(blocks * sizeof(struct meta), BLOCK_SIZE);
	landing = max_u64(LANDING_LEAST, size / 64) / BLOCK_SIZE;
	landing = min_u64(landing, limit / 8);

	lock_take(&b->lock);
	lock_take(&c->lock);
	if (c->used + c->promised + landing + BLOCK_FIRST > limit) {
		error = -EBUSY;
	} else {
		b->limit = limit;
		b->landing = landing;
		c->limit = limit - landing - BLOCK_FIRST;
		pool->landing_piece = max_u64(landing / 4, 1);
		pool->size = size;
	}
	lock_drop(&c->lock);
	lock_drop(&b->lock);
	return error;
}

uint64_t bounds_needed(struct ram_pool *pool)
{
	uint64_t blocks = pool->charge.used + pool->charge.promised;

	/* Seven eighths of the pool less its counts, with some to spare. */
	blocks += blocks / 6 + 16;
	return max_u64(blocks * BLOCK_SIZE, RAM_POOL_MIN);
}
