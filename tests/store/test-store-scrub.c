/* SPDX-License-Identifier: BSD-3-Clause */
/* ram_pool_scrub(): a sound pool is found sound and left as it was; a use that
 * is not counted, a page that is free although it is used, and a table in the
 * place of data are found; it stops when it is told to. */
#include <stdatomic.h>

#include "layout.h"
#include "pool.h"
#include "store.h"
#include "util.h"

#define SIZE (64 * MIB)

static struct ram_pool *pool;

static bool never(void *arg, const struct ram_scrub *so_far)
{
	(void)so_far;
	++*(unsigned *)arg;
	return false;
}

static bool at_once(void *arg, const struct ram_scrub *so_far)
{
	(void)arg;
	(void)so_far;
	return true;
}

static void check_sound(struct env *env, uint64_t disks)
{
	struct ram_scrub result;
	struct ram_why why;
	unsigned asked = 0;

	CHECK_RC(ram_pool_scrub(pool, never, &asked, &result, &why), 0);
	CHECK_U64(result.disks, disks);
	CHECK_U64(result.done, disks);
	CHECK(asked > 0);
	env_check(env);
}

/* A table of that level that two others point at. */
static uint64_t find_shared(unsigned level)
{
	uint64_t i;
	uint32_t count;

	for (i = BLOCK_FIRST; i < pool->blocks.total; i++) {
		count = atomic_load(&pool->meta[i].count);
		if (count >> META_LEVEL_SHIFT == level &&
		    (count & META_USES) == 2)
			return i;
	}
	FAIL("nothing is shared at level %u", level);
	return 0;
}

static void check_found(uint64_t page, uint32_t planted, const char *words)
{
	uint32_t right = atomic_exchange(&pool->meta[page].count, planted);
	struct ram_scrub result;
	struct ram_why why;
	unsigned asked = 0;
	int rc = ram_pool_scrub(pool, never, &asked, &result, &why);

	atomic_store(&pool->meta[page].count, right);
	CHECK_RC(rc, -EINVAL);
	CHECK_WHY(&why, words);
}

static void planted_faults(void)
{
	uint64_t page = find_shared(1);
	struct group *g = &pool->blocks.group[page / RUN_BLOCKS];
	uint64_t bit = UINT64_C(1) << page % 64;
	struct ram_scrub result;
	struct ram_why why;
	unsigned asked = 0;

	/* What is shared is held by the snapshots that the scrub takes, too:
	 * so only the level can be wrong alone, or all uses together. */
	check_found(page, UINT32_C(2) << META_LEVEL_SHIFT | 4, "at level");
	check_found(page, UINT32_C(1) << META_LEVEL_SHIFT | 1, "counted 1");
	g->free[page % RUN_BLOCKS / 64] |= bit;
	CHECK_RC(ram_pool_scrub(pool, never, &asked, &result, &why), -EINVAL);
	g->free[page % RUN_BLOCKS / 64] &= ~bit;
	CHECK_WHY(&why, "in use and free");
}

int main(void)
{
	static char data[3 * MIB];
	struct ram_disk *disk, *clone, *snapshot;
	struct ram_scrub result;
	struct ram_usage before;
	struct ram_why why;
	struct env env;
	unsigned i;

	test_begin("scrub");
	env_open(&env, NULL, 64 * MIB, 0);
	pool = env.pool;
	test_part("an empty pool, then one with relatives");
	check_sound(&env, 0);
	disk = env_create(&env, "disk", SIZE);
	check_sound(&env, 1);
	fill_pattern(data, sizeof(data), 1);
	CHECK_RC(env_write(&env, disk, data, sizeof(data), 0, NULL), 0);
	CHECK_RC(env_write(&env, disk, data, 4096, SIZE - 4096, NULL), 0);
	clone = env_clone(disk, "clone", 0);
	snapshot = env_clone(disk, "snapshot", RAM_SNAPSHOT);
	CHECK_RC(env_write(&env, clone, data, 8192, MIB, NULL), 0);
	before = env_usage(&env);
	for (i = 0; i < 10; i++)
		check_sound(&env, 3);
	ram_pool_tidy(pool);
	CHECK_U64(env_usage(&env).held, before.held);

	test_part("stopped");
	CHECK_RC(ram_pool_scrub(pool, at_once, NULL, &result, &why),
		 -ECANCELED);
	check_sound(&env, 3);

	test_part("faults");
	env_delete(snapshot);
	ram_pool_tidy(pool);
	planted_faults();
	check_sound(&env, 2);

	env_delete(clone);
	env_delete(disk);
	env_close(&env);
	return test_end();
}
