/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool that is full, quotas and guarantees: who may still write, who may not,
 * and when there is room again. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "util.h"

#define POOL_SIZE (16 * MIB)
#define BLOCKS_MAX (POOL_SIZE / BLOCK_SIZE)

/* Which version was written to which block; 0: none. */
struct big {
	struct ram_disk *disk;
	uint64_t size;
	uint32_t version[4 * BLOCKS_MAX];
};

static uint8_t buf[MIB];

static void fill_block(uint8_t *block, uint64_t number, uint32_t version)
{
	if (version)
		fill_pattern(block, BLOCK_SIZE, number << 32 | version);
	else
		memset(block, 0, BLOCK_SIZE);
}

static void big_new(struct big *big, struct env *env, const char *name,
		    uint64_t size)
{
	memset(big, 0, sizeof(*big));
	CHECK(size / BLOCK_SIZE <= ARRAY_SIZE(big->version));
	big->size = size;
	big->disk = env_create(env, name, size);
}

/* Write n blocks from `first` on; what was written is noted. */
static int big_write(struct big *big, struct env *env, uint64_t first,
		     uint64_t n)
{
	uint64_t done;
	int rc;

	for (uint64_t i = 0; i < n; i++)
		fill_block(buf + i * BLOCK_SIZE, first + i,
			   big->version[first + i] + 1);
	rc = env_write(env, big->disk, buf, n * BLOCK_SIZE, first * BLOCK_SIZE,
		       &done);
	CHECK_U64(done % BLOCK_SIZE, 0);
	for (uint64_t i = 0; i < done / BLOCK_SIZE; i++)
		big->version[first + i]++;
	return rc;
}

static void big_verify(struct big *big, struct env *env)
{
	uint8_t got[BLOCK_SIZE], want[BLOCK_SIZE];

	for (uint64_t b = 0; b < big->size / BLOCK_SIZE; b++) {
		fill_block(want, b, big->version[b]);
		CHECK_RC(env_read(env, big->disk, got, BLOCK_SIZE,
				  b * BLOCK_SIZE),
			 0);
		if (memcmp(got, want, BLOCK_SIZE) != 0)
			FAIL("block %llu is not version %u",
			     (unsigned long long)b, big->version[b]);
	}
}

/* Write never-written blocks from *next on until there is no room; how many. */
static uint64_t big_fill(struct big *big, struct env *env, uint64_t *next,
			 uint64_t at_once)
{
	uint64_t begin = *next;
	int rc = 0;

	while (rc == 0 && *next + at_once <= big->size / BLOCK_SIZE) {
		rc = big_write(big, env, *next, at_once);
		while (big->version[*next])
			++*next;
	}
	CHECK_RC(rc, -ENOSPC);
	return *next - begin;
}

/* Blocks that a pool of this size must at least be able to hold: an eighth may
 * be landing, and 1/32 is more than enough for tables. */
#define MUST_FIT (BLOCKS_MAX - BLOCKS_MAX / 8 - BLOCKS_MAX / 32)

static void overwriting(bool snapshot_elsewhere, uint64_t at_once)
{
	struct ram_disk *other, *snapshot = NULL;
	struct ram_usage usage;
	struct env env;
	static struct big big;
	uint64_t next = 0, count, room;

	test_part("overwriting in a full pool, %llu blocks at once%s",
		  (unsigned long long)at_once,
		  snapshot_elsewhere ? ", snapshot elsewhere" : "");
	env_open(&env, NULL, POOL_SIZE, 0);
	other = env_create(&env, "other", MIB);
	memset(buf, 1, sizeof(buf));
	CHECK_RC(env_write(&env, other, buf, 64 * KIB, 0, NULL), 0);
	if (snapshot_elsewhere)
		snapshot = env_clone(other, "snapshot", RAM_SNAPSHOT);
	big_new(&big, &env, "big", 2 * POOL_SIZE);
	count = big_fill(&big, &env, &next, at_once);
	/* Large pieces may leave something over; single blocks fit in it. */
	count += big_fill(&big, &env, &next, 1);
	if (count < MUST_FIT)
		FAIL("full after %llu of %llu blocks",
		     (unsigned long long)count, (unsigned long long)BLOCKS_MAX);
	usage = env_usage(&env);
	CHECK(usage.refusals > 0);
	CHECK(usage.held >= count * BLOCK_SIZE);
	CHECK(usage.held <= usage.size);
	CHECK(usage.backing <= usage.size + 64 * KIB);
	env_check(&env);

	for (unsigned round = 0; round < 3; round++) {
		for (uint64_t b = 0; b + at_once <= count; b += at_once)
			CHECK_RC(big_write(&big, &env, b, at_once), 0);
		/* parts of blocks likewise */
		for (uint64_t b = 0; b < count; b += 37)
			CHECK_RC(env_write(&env, big.disk, "x", 1,
					   b * BLOCK_SIZE + 5, NULL),
				 0);
		for (uint64_t b = 0; b < count; b += 37)
			CHECK_RC(big_write(&big, &env, b, 1), 0);
	}
	CHECK_RC(big_write(&big, &env, 2 * BLOCKS_MAX - 1, 1), -ENOSPC);
	big_verify(&big, &env);
	env_check(&env);

	/* Room again after a trim, in another disk too. */
	CHECK_RC(env_zero(&env, big.disk, MIB, 0, 0), 0);
	memset(big.version, 0, MIB / BLOCK_SIZE * sizeof(big.version[0]));
	ram_pool_tidy(env.pool);
	CHECK_RC(env_write(&env, other, buf, 900 * KIB, 64 * KIB, NULL), 0);
	big_verify(&big, &env);

	if (snapshot) {
		/* Below a snapshot an overwrite needs room. There is some left
		 * of the MiB; fill that, then it must fail and change
		 * nothing. */
		room = big_fill(&big, &env, &next, 1);
		CHECK(room < MIB / BLOCK_SIZE);
		memset(buf, 2, sizeof(buf));
		CHECK_RC(env_write(&env, other, buf, 64 * KIB, 0, NULL),
			 -ENOSPC);
		CHECK_RC(env_read(&env, other, buf, 64 * KIB, 0), 0);
		for (uint64_t i = 0; i < 64 * KIB; i++)
			if (buf[i] != 1 && buf[i] != 2)
				FAIL("garbage after -ENOSPC");
		CHECK_RC(env_read(&env, snapshot, buf, 64 * KIB, 0), 0);
		for (uint64_t i = 0; i < 64 * KIB; i++)
			CHECK_U64(buf[i], 1);
		/* A full pool can delete, and then it works. */
		env_delete(snapshot);
		ram_pool_tidy(env.pool);
		memset(buf, 2, sizeof(buf));
		CHECK_RC(env_write(&env, other, buf, 64 * KIB, 0, NULL), 0);
	}
	env_check(&env);
	env_delete(other);
	env_delete(big.disk);
	ram_pool_tidy(env.pool);
	env_check(&env);
	env_close(&env);
}

/* Zeroing with RAM_KEEP more than there is ends, and with -ENOSPC. */
static void keeping_too_much(void)
{
	struct ram_disk *disk;
	struct env env;

	test_part("allocating more than there is");
	env_open(&env, NULL, POOL_SIZE, 0);
	disk = env_create(&env, "disk", 16 * TIB);
	CHECK_RC(env_zero(&env, disk, 16 * TIB, 0, RAM_KEEP), -ENOSPC);
	CHECK_RC(env_zero(&env, disk, 16 * TIB, 0, 0), 0);
	CHECK_RC(env_zero(&env, disk, 8 * MIB, TIB, RAM_KEEP), 0);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
}

static void quota(void)
{
	struct ram_disk_spec spec = {
		.name = "bound",
		.size = 8 * MIB,
		.quota = 2 * MIB,
		.state = RAM_WHOLE,
	};
	struct ram_disk_info info;
	static struct big big;
	struct ram_disk *disk;
	struct env env;
	uint64_t next = 0, count;

	test_part("quota");
	env_open(&env, NULL, POOL_SIZE, 0);
	memset(&big, 0, sizeof(big));
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk), 0);
	big.disk = disk;
	big.size = spec.size;
	count = big_fill(&big, &env, &next, 1);
	CHECK_RC(env_info(&env, disk, RAM_INFO_USAGE, &info), 0);
	CHECK_U64(info.quota, 2 * MIB);
	CHECK(info.own <= 2 * MIB);
	/* 512 blocks less a few tables */
	CHECK(count <= 512 && count >= 512 - 8);
	for (uint64_t b = 0; b < count; b++)
		CHECK_RC(big_write(&big, &env, b, 1), 0);
	CHECK_RC(big_write(&big, &env, 0, 256), 0);
	/* Nobody else is concerned. */
	env_delete(env_create(&env, "other", MIB));
	/* Room after a trim */
	CHECK_RC(env_zero(&env, disk, 64 * BLOCK_SIZE, 0, 0), 0);
	memset(big.version, 0, 64 * sizeof(big.version[0]));
	ram_pool_tidy(env.pool);
	CHECK(big_fill(&big, &env, &next, 1) >= 60);
	big_verify(&big, &env);
	env_check(&env);

	/* quota and guarantee that contradict each other, or fit nowhere */
	ram_disk_put(disk);
	disk = NULL;
	spec.name = "greedy";
	spec.quota = 0;
	spec.guarantee = POOL_SIZE;
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk), -ENOSPC);
	CHECK_RC(ram_disk_open(env.pool, "greedy", &disk), -ENOENT);
	disk = env_disk(&env, "bound");
	env_delete(disk);
	env_close(&env);
}

static void write_whole(struct env *env, struct big *big, uint64_t at_once)
{
	for (uint64_t b = 0; b < big->size / BLOCK_SIZE; b += at_once)
		CHECK_RC(big_write(big, env, b, at_once), 0);
	big_verify(big, env);
}

static void guarantee(uint64_t at_once, bool keeper)
{
	static struct big fixed, thin;
	struct ram_disk_spec spec = {.name = "too much", .state = RAM_WHOLE};
	struct ram_disk *disk = NULL;
	struct env env;
	uint64_t next = 0;

	test_part("guarantee, %llu blocks at once%s",
		  (unsigned long long)at_once, keeper ? ", housekeeper" : "");
	env_open(&env, NULL, POOL_SIZE, 0);
	if (keeper)
		env_keeper(&env);
	memset(&fixed, 0, sizeof(fixed));
	fixed.size = 4 * MIB;
	fixed.disk = env_create_fixed(&env, "fixed", fixed.size);
	CHECK(env_usage(&env).guaranteed >= 4 * MIB);
	big_new(&thin, &env, "thin", 2 * POOL_SIZE);
	big_fill(&thin, &env, &next, 1);
	CHECK(env_usage(&env).held + 4 * MIB <= POOL_SIZE);

	/* The pool has nothing left, but the fixed disk has all of its own. */
	write_whole(&env, &fixed, at_once);
	write_whole(&env, &fixed, at_once);
	CHECK_RC(big_write(&thin, &env, next, 1), -ENOSPC);

	/* What it trims stays its own. */
	CHECK_RC(env_zero(&env, fixed.disk, fixed.size, 0, 0), 0);
	memset(fixed.version, 0, sizeof(fixed.version));
	if (!keeper)
		ram_pool_tidy(env.pool);
	CHECK_RC(big_write(&thin, &env, next, 1), -ENOSPC);
	write_whole(&env, &fixed, at_once);
	big_verify(&thin, &env);

	/* Another one does not fit, nor does more of this one. */
	spec.size = MIB;
	spec.fixed = true;
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk), -ENOSPC);
	CHECK_RC(ram_disk_resize(fixed.disk, 8 * MIB), -ENOSPC);
	CHECK_U64(ram_disk_size(fixed.disk), 4 * MIB);
	/* A kept snapshot would need as much again; for that there is none. */
	spec.fixed = false;
	spec.name = "kept";
	CHECK_RC(ram_disk_clone(fixed.disk, &spec, RAM_SNAPSHOT, &disk),
		 -ENOSPC);
	CHECK_RC(ram_disk_open(env.pool, "kept", &disk), -ENOENT);
	write_whole(&env, &fixed, at_once);

	env_delete(thin.disk);
	if (!keeper)
		ram_pool_tidy(env.pool);
	else
		for (uint64_t until = test_now() + 10000000000;
		     env_usage(&env).held > 5 * MIB && test_now() < until;)
			ram_wait(env.thread, 10);
	/* Now there is. */
	CHECK_RC(ram_disk_clone(fixed.disk, &spec, RAM_SNAPSHOT, &disk), 0);
	big_new(&thin, &env, "thin", 2 * POOL_SIZE);
	next = 0;
	big_fill(&thin, &env, &next, 1);
	write_whole(&env, &fixed, at_once);
	CHECK(env_usage(&env).held <= POOL_SIZE);
	if (!keeper)
		env_check(&env);
	env_delete(thin.disk);
	env_delete(disk);
	env_delete(fixed.disk);
	if (!keeper) {
		ram_pool_tidy(env.pool);
		CHECK_U64(env_usage(&env).guaranteed, 0);
		env_check(&env);
	}
	env_close(&env);
}

static void guarantee_too_large(void)
{
	struct ram_disk_spec spec = {
		.name = "fixed",
		.size = POOL_SIZE,
		.fixed = true,
		.state = RAM_WHOLE,
	};
	struct ram_disk *disk = NULL, *clone = NULL;
	static struct big fixed;
	struct ram_usage before;
	struct env env;

	test_part("guarantees that do not fit");
	env_open(&env, NULL, POOL_SIZE, 0);
	env_delete(env_create(&env, "first", 1));
	ram_pool_tidy(env.pool);
	before = env_usage(&env);
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk), -ENOSPC);
	spec.size = INT64_MAX;
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk), -ENOSPC);
	CHECK_RC(ram_disk_open(env.pool, "fixed", &disk), -ENOENT);
	ram_pool_tidy(env.pool);
	CHECK_U64(env_usage(&env).held, before.held);
	CHECK_U64(env_usage(&env).guaranteed, before.guaranteed);

	/* Two times 8 MiB is more than 16 MiB. */
	memset(&fixed, 0, sizeof(fixed));
	fixed.size = 8 * MIB;
	fixed.disk = env_create_fixed(&env, "fixed", fixed.size);
	write_whole(&env, &fixed, 1);
	spec.name = "second";
	CHECK_RC(ram_disk_clone(fixed.disk, &spec, 0, &clone), -ENOSPC);
	spec.fixed = false;
	CHECK_RC(ram_disk_clone(fixed.disk, &spec, RAM_SNAPSHOT, &clone),
		 -ENOSPC);
	env_check(&env);
	/* That of a save, for a while, guarantees nothing. */
	spec.state = RAM_TEMPORARY;
	CHECK_RC(ram_disk_clone(fixed.disk, &spec, RAM_SNAPSHOT, &clone), 0);
	big_verify(&fixed, &env);
	env_delete(clone);
	ram_pool_tidy(env.pool);
	write_whole(&env, &fixed, 1);
	env_check(&env);
	env_delete(fixed.disk);
	env_close(&env);
}

static void resize_pool(void)
{
	static struct big big;
	struct env env;
	uint64_t next = 0, count;

	test_part("another bound");
	env_open(&env, NULL, POOL_SIZE, 0);
	big_new(&big, &env, "big", 2 * POOL_SIZE);
	CHECK_RC(big_write(&big, &env, 0, 256), 0);
	CHECK_RC(ram_pool_resize(env.pool, 2 * POOL_SIZE), -EINVAL);
	CHECK_RC(ram_pool_resize(env.pool, POOL_SIZE / 2), 0);
	CHECK_U64(env_usage(&env).size, POOL_SIZE / 2);
	next = 256;
	count = 256 + big_fill(&big, &env, &next, 1);
	CHECK(count * BLOCK_SIZE <= POOL_SIZE / 2);
	CHECK(env_usage(&env).held <= POOL_SIZE / 2);
	CHECK_RC(ram_pool_resize(env.pool, POOL_SIZE / 4), -EBUSY);
	CHECK_U64(env_usage(&env).size, POOL_SIZE / 2);
	CHECK_RC(ram_pool_resize(env.pool, POOL_SIZE), 0);
	count += big_fill(&big, &env, &next, 1);
	CHECK(count >= MUST_FIT);
	big_verify(&big, &env);
	env_check(&env);
	env_delete(big.disk);
	env_close(&env);
}

/* ----------------------------------------------------------------- waiting */

struct waiter {
	struct env *env;
	struct ram_disk *disk;
	struct ram_thread *thread;
	_Atomic bool told_to_wait;
	_Atomic bool done;
	sem_t *woken; /* by the callback; NULL: ram_wait() */
};

static void post(void *arg)
{
	sem_post(arg);
}

/* Writes 4 MiB, for which there is no room before a view is given back. */
static void *wait_and_write(void *arg)
{
	struct waiter *w = arg;
	uint8_t block[BLOCK_SIZE];
	uint64_t off = 0;

	memset(block, 7, sizeof(block));
	while (off < 4 * MIB) {
		int64_t n = ram_disk_write(w->disk, w->thread, block,
					   sizeof(block), off);

		if (n == -EAGAIN) {
			struct timespec until;

			if (!w->woken && !w->told_to_wait) {
				int rc = ram_wait(w->thread, 20);

				/* Too soon: the view is still held. But it may
				 * be that another try is always worth it. */
				CHECK(rc == -ETIMEDOUT || rc == 0);
				w->told_to_wait = true;
				continue;
			}
			w->told_to_wait = true;
			if (!w->woken) {
				CHECK_RC(ram_wait(w->thread, 30000), 0);
				continue;
			}
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_sec += 30;
			if (sem_timedwait(w->woken, &until) != 0)
				FAIL("-EAGAIN and no wake-up");
			continue;
		}
		if (n < 0)
			FAIL("a write gave %lld though memory is on its way "
			     "back",
			     (long long)n);
		off += (uint64_t)n;
	}
	w->done = true;
	return NULL;
}

static void waiting(bool callback)
{
	static struct big big;
	static struct ram_view views[512];
	struct waiter waiter = {0};
	unsigned lent = 0;
	struct env env;
	uint64_t next = 0, count;
	pthread_t thread;
	sem_t woken;

	test_part("waiting for memory, %s", callback ? "called" : "ram_wait");
	env_open(&env, NULL, POOL_SIZE, 0);
	big_new(&big, &env, "big", 2 * POOL_SIZE);
	count = big_fill(&big, &env, &next, 1);
	/* All that is lent is trimmed, but cannot be freed. */
	for (uint64_t off = 0; off < count * BLOCK_SIZE;) {
		CHECK(lent < ARRAY_SIZE(views));
		CHECK_RC(env_view(&env, big.disk, count * BLOCK_SIZE - off, off,
				  &views[lent]),
			 0);
		off += views[lent++].len;
	}
	CHECK_RC(env_zero(&env, big.disk, count * BLOCK_SIZE, 0, 0), 0);
	env_keeper(&env);

	sem_init(&woken, 0, 0);
	waiter.env = &env;
	waiter.disk = big.disk;
	waiter.woken = callback ? &woken : NULL;
	CHECK_RC(ram_pool_join(env.pool, callback ? post : NULL, &woken,
			       &waiter.thread),
		 0);
	CHECK(pthread_create(&thread, NULL, wait_and_write, &waiter) == 0);
	for (uint64_t until = test_now() + 30000000000; !waiter.told_to_wait;) {
		if (test_now() > until)
			FAIL("a writer neither writes nor waits");
		sched_yield();
	}
	CHECK(!waiter.done);
	for (unsigned i = 0; i < lent; i++)
		ram_view_release(&views[i], env.thread);
	pthread_join(thread, NULL);
	CHECK(waiter.done);
	ram_pool_leave(waiter.thread);
	sem_destroy(&woken);
	env_delete(big.disk);
	env_close(&env);
}

int main(void)
{
	test_begin("test-store-full");
	overwriting(false, 1);
	overwriting(false, 256);
	overwriting(true, 1);
	overwriting(true, 256);
	keeping_too_much();
	quota();
	guarantee(1, false);
	guarantee(256, false);
	guarantee(1, true);
	guarantee(256, true);
	resize_pool();
	waiting(false);
	waiting(true);
	guarantee_too_large();
	return test_end();
}
