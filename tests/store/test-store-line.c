/* SPDX-License-Identifier: BSD-3-Clause */
/* Who stands first in line for memory and then only waits for room in landing does
 * not keep those behind it from memory: the one that may use the last piece gets it,
 * or nobody would ever finish. */
#include "util.h"

#define POOL (64 * MIB)
#define VIEWS 64

static struct ram_view held[VIEWS];
static unsigned held_count;

/* Stage pieces until there is no room; how many bytes. */
static uint64_t stage_all(struct ram_thread *t, struct ram_disk *disk,
			  uint64_t off, unsigned flags)
{
	uint64_t sum = 0;
	int error;

	for (;;) {
		CHECK(held_count < VIEWS);
		error = ram_disk_stage(disk, t, 256 * KIB, off + sum, flags,
				       &held[held_count]);
		if (error)
			break;
		sum += held[held_count++].len;
	}
	CHECK_RC(error, -EAGAIN);
	return sum;
}

int main(void)
{
	struct ram_thread *last, *stuck;
	struct ram_disk *disk;
	struct ram_view view;
	struct env env;
	uint8_t block[RAM_BLOCK] = {1};
	unsigned first, tries;
	uint64_t got = 0;
	int error;

	test_begin("test-store-line");
	test_part("first in line, and no room in landing");
	env_open(&env, NULL, POOL, 0);
	env_keeper(&env);
	disk = env_create(&env, "disk", GIB);
	CHECK_RC(ram_pool_join(env.pool, NULL, NULL, &last), 0);
	CHECK_RC(ram_pool_join(env.pool, NULL, NULL, &stuck), 0);
	/* All of landing is taken: the last piece by `last`. */
	CHECK(stage_all(env.thread, disk, 0, 0) > 0);
	first = held_count;
	CHECK(stage_all(last, disk, 512 * MIB, RAM_LAST) > 0);
	CHECK(held_count > first);
	/* One more needs a block, and stands in line. */
	CHECK_RC(ram_disk_write(disk, stuck, block, sizeof(block), 900 * MIB),
		 -EAGAIN);
	/* What it does next only needs room. */
	CHECK_RC(ram_disk_stage(disk, stuck, 256 * KIB, 700 * MIB, 0, &view),
		 -EAGAIN);
	/* The last piece is free again, and is for `last`. */
	while (held_count > first)
		ram_view_release(&held[--held_count], last);
	for (tries = 0; tries < 1000 && got < ram_pool_piece(env.pool);
	     tries++) {
		error = ram_disk_stage(disk, last, 256 * KIB, 512 * MIB + got,
				       RAM_LAST, &held[held_count]);
		if (!error) {
			got += held[held_count++].len;
			continue;
		}
		CHECK_RC(error, -EAGAIN);
		/* The other one tries too, in vain. */
		CHECK_RC(ram_disk_stage(disk, stuck, 256 * KIB, 700 * MIB, 0,
					&view),
			 -EAGAIN);
		ram_wait(last, 10);
	}
	CHECK(got >= ram_pool_piece(env.pool));
	while (held_count > 0)
		ram_view_release(&held[--held_count], env.thread);
	ram_pool_leave(stuck);
	ram_pool_leave(last);
	env_check(&env);
	ram_disk_put(disk);
	env_close(&env);
	return test_end();
}
