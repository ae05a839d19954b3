/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads on one disk, while others clone it, delete clones, resize and
 * tidy: every writer finds its own bytes as it left them (down to single bytes
 * of blocks that it shares with others), every block read in a contended region
 * is one version whole, and a snapshot is one moment in time that never
 * changes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "util.h"

#define WRITERS 3
#define POOL_SIZE (96 * MIB)
#define DISK_SIZE (2 * GIB)

/* Own bytes: units of a length that is no multiple of a block, in turns, around
 * the place where two leaf tables meet. */
#define UNIT 6000u
#define ROWS 40u
#define STRIPES_AT (2 * MIB - UNIT * WRITERS * ROWS / 2)

/* Blocks that everybody writes. */
#define COMMON_BLOCKS 48u
#define COMMON_AT (GIB - 24 * BLOCK_SIZE)

/* Two counters for each writer, far apart, the first written first. */
#define FIRST_AT (8 * MIB)
#define SECOND_AT (GIB + 512 * MIB)

struct writer {
	struct env env;
	struct rng rng;
	struct ram_disk *disk;
	unsigned number;
	uint64_t steps;
	uint64_t counter;
	uint8_t own[ROWS][UNIT];
	struct ram_view *held; /* of one unit; NULL: none */
	uint8_t before[UNIT];  /* as it was then */
	/* a view for somebody else to give back; NULL: none */
	struct ram_view *_Atomic passed;
	_Atomic unsigned out; /* such views that are not given back yet */
};

static struct writer writers[WRITERS];
static struct ram_pool *the_pool;
static bool with_keeper;
static _Atomic unsigned running;

/* Give back the views that writers left for others: never more than one each,
 * and soon, since freed memory waits for them. */
static void passed_release(struct ram_thread *thread)
{
	for (unsigned i = 0; i < WRITERS; i++) {
		struct ram_view *view =
			atomic_exchange(&writers[i].passed, NULL);

		if (!view)
			continue;
		ram_view_release(view, thread);
		free(view);
		writers[i].out--;
	}
}

static void join_pool(struct env *env)
{
	memset(env, 0, sizeof(*env));
	env->pool = the_pool;
	env->keeper = with_keeper;
	CHECK_RC(ram_pool_join(the_pool, NULL, NULL, &env->thread), 0);
}

static uint64_t unit_at(unsigned writer, unsigned row)
{
	return STRIPES_AT + ((uint64_t)row * WRITERS + writer) * UNIT;
}

/* ------------------------------------------------------------ own bytes */

static void own_check(struct writer *w, struct ram_disk *disk, unsigned row)
{
	uint8_t got[UNIT];

	CHECK_RC(env_read(&w->env, disk, got, UNIT, unit_at(w->number, row)),
		 0);
	for (unsigned i = 0; i < UNIT; i++)
		if (got[i] != w->own[row][i])
			FAIL("writer %u row %u byte %u is %02x, not %02x",
			     w->number, row, i, got[i], w->own[row][i]);
}

static void own_step(struct writer *w)
{
	unsigned row = (unsigned)rng_below(&w->rng, ROWS);
	uint64_t at = rng_below(&w->rng, UNIT);
	uint64_t len = 1 + rng_below(&w->rng, UNIT - at);
	uint64_t off = unit_at(w->number, row) + at;
	struct ram_view view;
	unsigned flags;

	switch (rng_below(&w->rng, 6)) {
	case 0:
		own_check(w, w->disk, row);
		return;
	case 1:
		flags = rng_chance(&w->rng, 30) ? RAM_KEEP : 0;
		CHECK_RC(env_zero(&w->env, w->disk, len, off, flags), 0);
		memset(&w->own[row][at], 0, len);
		return;
	case 2:
		CHECK_RC(env_stage(&w->env, w->disk, len, off, &view), 0);
		rng_fill(&w->rng, &w->own[row][at], view.len);
		view_fill(&view, &w->own[row][at]);
		CHECK_RC(env_publish(&w->env, &view), 0);
		ram_view_release(&view, w->env.thread);
		return;
	default:
		rng_fill(&w->rng, &w->own[row][at], len);
		CHECK_RC(env_write(&w->env, w->disk, &w->own[row][at], len, off,
				   NULL),
			 0);
		return;
	}
}

/* A view does not change, whatever its disk's writer does. */
static void held_check(struct writer *w)
{
	uint8_t got[UNIT];

	ram_view_copy(w->held, got);
	CHECK(memcmp(got, w->before, w->held->len) == 0);
}

/* Nobody waits for memory with views in hand: it may be those that it waits
 * for. */
static void starved(void *arg)
{
	struct writer *w = arg;

	passed_release(w->env.thread);
	if (!w->held)
		return;
	held_check(w);
	ram_view_release(w->held, w->env.thread);
	free(w->held);
	w->held = NULL;
}

static void view_step(struct writer *w)
{
	unsigned row = (unsigned)rng_below(&w->rng, ROWS);
	struct ram_view *view = calloc(1, sizeof(*view)), *none = NULL;

	passed_release(rng_chance(&w->rng, 50) ? w->env.thread : NULL);
	CHECK(view);
	CHECK_RC(
		env_view(&w->env, w->disk, UNIT, unit_at(w->number, row), view),
		0);
	memcpy(w->before, w->own[row], UNIT);
	w->held = view;
	for (unsigned i = 0; i < 3; i++) {
		rng_fill(&w->rng, w->own[row], UNIT);
		CHECK_RC(env_write(&w->env, w->disk, w->own[row], UNIT,
				   unit_at(w->number, row), NULL),
			 0);
	}
	if (!w->held)
		return;
	held_check(w);
	w->held = NULL;
	/* Give it back, or let somebody else do so. */
	w->out++;
	if (atomic_compare_exchange_strong(&w->passed, &none, view))
		return;
	w->out--;
	ram_view_release(view, w->env.thread);
	free(view);
}

/* --------------------------------------------------------- common blocks */

static uint64_t word_of(uint64_t key, unsigned i)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) +
	       i * UINT64_C(0xbf58476d1ce4e5b9);
}

static void common_fill(struct rng *rng, uint64_t *block, uint64_t number)
{
	uint64_t key = rng_next(rng) << 8 | (number & 0xff);

	block[0] = key;
	for (unsigned i = 1; i < BLOCK_SIZE / 8; i++)
		block[i] = word_of(key, i);
}

static void common_check(const uint64_t *block, uint64_t number)
{
	uint64_t key = block[0];

	if (key == 0) {
		for (unsigned i = 0; i < BLOCK_SIZE / 8; i++)
			if (block[i])
				FAIL("common block %llu is torn at %u",
				     (unsigned long long)number, i * 8);
		return;
	}
	if ((key & 0xff) != (number & 0xff))
		FAIL("common block %llu is another: %#llx",
		     (unsigned long long)number, (unsigned long long)key);
	for (unsigned i = 1; i < BLOCK_SIZE / 8; i++)
		if (block[i] != word_of(key, i))
			FAIL("common block %llu is torn at %u",
			     (unsigned long long)number, i * 8);
}

static void common_read(struct env *env, struct ram_disk *disk, uint64_t first,
			uint64_t n)
{
	uint64_t got[8][BLOCK_SIZE / 8];

	CHECK(n <= 8);
	CHECK_RC(env_read(env, disk, got, n * BLOCK_SIZE,
			  COMMON_AT + first * BLOCK_SIZE),
		 0);
	for (uint64_t i = 0; i < n; i++)
		common_check(got[i], first + i);
}

static void common_view(struct env *env, struct ram_disk *disk, uint64_t first,
			uint64_t n)
{
	uint64_t got[8][BLOCK_SIZE / 8];
	struct ram_view view;

	CHECK_RC(env_view(env, disk, n * BLOCK_SIZE,
			  COMMON_AT + first * BLOCK_SIZE, &view),
		 0);
	CHECK(view.len <= sizeof(got));
	for (unsigned again = 0; again < 2; again++) {
		ram_view_copy(&view, got);
		for (uint64_t i = 0; i < view.len / BLOCK_SIZE; i++)
			common_check(got[i], first + i);
	}
	ram_view_release(&view, env->thread);
}

static void common_step(struct writer *w)
{
	uint64_t first = rng_below(&w->rng, COMMON_BLOCKS - 8);
	uint64_t n = 1 + rng_below(&w->rng, 8);
	uint64_t block[8][BLOCK_SIZE / 8];

	switch (rng_below(&w->rng, 5)) {
	case 0:
		CHECK_RC(env_zero(&w->env, w->disk, n * BLOCK_SIZE,
				  COMMON_AT + first * BLOCK_SIZE,
				  rng_chance(&w->rng, 30) ? RAM_KEEP : 0),
			 0);
		return;
	case 1:
		common_view(&w->env, w->disk, first, n);
		return;
	case 2:
		common_read(&w->env, w->disk, first, n);
		return;
	default:
		for (uint64_t i = 0; i < n; i++)
			common_fill(&w->rng, block[i], first + i);
		CHECK_RC(env_write(&w->env, w->disk, block, n * BLOCK_SIZE,
				   COMMON_AT + first * BLOCK_SIZE, NULL),
			 0);
	}
}

/* --------------------------------------------------------------- counters */

static void counter_step(struct writer *w)
{
	uint64_t n = ++w->counter;

	CHECK_RC(env_write(&w->env, w->disk, &n, 8, FIRST_AT + w->number * 8,
			   NULL),
		 0);
	CHECK_RC(env_write(&w->env, w->disk, &n, 8,
			   SECOND_AT + w->number * BLOCK_SIZE, NULL),
		 0);
}

static void counters_check(struct env *env, struct ram_disk *snapshot)
{
	for (unsigned i = 0; i < WRITERS; i++) {
		uint64_t first, second;

		CHECK_RC(env_read(env, snapshot, &first, 8, FIRST_AT + i * 8),
			 0);
		CHECK_RC(env_read(env, snapshot, &second, 8,
				  SECOND_AT + i * BLOCK_SIZE),
			 0);
		if (first != second && first != second + 1)
			FAIL("a snapshot of no moment: %llu was written before "
			     "%llu",
			     (unsigned long long)first,
			     (unsigned long long)second);
	}
}

static void *write_thread(void *arg)
{
	struct writer *w = arg;

	join_pool(&w->env);
	w->env.starved = starved;
	w->env.arg = w;
	for (uint64_t i = 0; i < w->steps; i++) {
		switch (rng_below(&w->rng, 10)) {
		case 0:
		case 1:
		case 2:
		case 3:
			own_step(w);
			break;
		case 4:
		case 5:
		case 6:
			common_step(w);
			break;
		case 7:
		case 8:
			counter_step(w);
			break;
		default:
			view_step(w);
			break;
		}
	}
	for (unsigned row = 0; row < ROWS; row++)
		own_check(w, w->disk, row);
	/* A registration is given back after all its views. */
	passed_release(w->env.thread);
	while (w->out)
		sched_yield();
	ram_pool_leave(w->env.thread);
	running--;
	return NULL;
}

/* --------------------------------------------------------------- snapshots */

#define KEPT 4

struct kept {
	struct ram_disk *disk; /* NULL: none */
	bool snapshot;
	uint64_t hash;
};

struct cloner {
	struct env env;
	struct rng rng;
	struct ram_disk *disk;
	struct kept kept[KEPT];
	unsigned serial;
	uint64_t taken;
};

static uint64_t hash_part(struct env *env, struct ram_disk *disk, uint64_t len,
			  uint64_t off, uint64_t hash)
{
	static _Thread_local uint64_t buf[64 * KIB / 8];

	while (len) {
		uint64_t n = min_u64(len, sizeof(buf));

		memset(buf, 0, sizeof(buf));
		CHECK_RC(env_read(env, disk, buf, n, off), 0);
		for (uint64_t i = 0; i < div_up(n, 8); i++)
			hash = (hash ^ buf[i]) * UINT64_C(0x100000001b3);
		off += n;
		len -= n;
	}
	return hash;
}

static uint64_t hash_disk(struct env *env, struct ram_disk *disk)
{
	uint64_t hash = 1;

	hash = hash_part(env, disk, UNIT * WRITERS * ROWS, STRIPES_AT, hash);
	hash = hash_part(env, disk, COMMON_BLOCKS * BLOCK_SIZE, COMMON_AT,
			 hash);
	hash = hash_part(env, disk, BLOCK_SIZE, FIRST_AT, hash);
	return hash_part(env, disk, WRITERS * BLOCK_SIZE, SECOND_AT, hash);
}

static void moment_check(struct cloner *c, struct ram_disk *disk)
{
	counters_check(&c->env, disk);
	for (uint64_t first = 0; first < COMMON_BLOCKS; first += 8)
		common_read(&c->env, disk, first, 8);
}

static void clone_take(struct cloner *c, struct kept *kept)
{
	struct ram_disk *src = c->disk;
	char name[32];

	/* A clone of a snapshot is one too. */
	for (unsigned i = 0; i < KEPT; i++)
		if (c->kept[i].disk && rng_chance(&c->rng, 20))
			src = c->kept[i].disk;
	kept->snapshot = rng_chance(&c->rng, 60);
	snprintf(name, sizeof(name), "clone-%u", c->serial++);
	kept->disk = env_clone(src, name, kept->snapshot ? RAM_SNAPSHOT : 0);
	moment_check(c, kept->disk);
	kept->hash = hash_disk(&c->env, kept->disk);
	c->taken++;
}

/* Writes to a clone are its own. */
static void clone_write(struct cloner *c, struct kept *kept)
{
	uint64_t block[BLOCK_SIZE / 8];
	uint64_t number = rng_below(&c->rng, COMMON_BLOCKS);

	if (kept->snapshot)
		return;
	common_fill(&c->rng, block, number);
	CHECK_RC(env_write(&c->env, kept->disk, block, BLOCK_SIZE,
			   COMMON_AT + number * BLOCK_SIZE, NULL),
		 0);
	CHECK_RC(env_zero(&c->env, kept->disk, 10000, STRIPES_AT + 50000, 0),
		 0);
	kept->hash = hash_disk(&c->env, kept->disk);
}

static void clone_step(struct cloner *c)
{
	struct kept *kept = &c->kept[rng_below(&c->rng, KEPT)];
	uint64_t size;

	if (!kept->disk) {
		clone_take(c, kept);
		return;
	}
	if (hash_disk(&c->env, kept->disk) != kept->hash)
		FAIL("a %s changed", kept->snapshot ? "snapshot" : "clone");
	switch (rng_below(&c->rng, 6)) {
	case 0:
		clone_write(c, kept);
		break;
	case 1:
		/* The clone becomes what the disk is now. */
		if (kept->snapshot)
			break;
		CHECK_RC(ram_disk_replace(kept->disk, c->disk), 0);
		moment_check(c, kept->disk);
		kept->hash = hash_disk(&c->env, kept->disk);
		break;
	case 2:
		size = DISK_SIZE + rng_below(&c->rng, GIB);
		CHECK_RC(ram_disk_resize(c->disk, size), 0);
		CHECK_U64(ram_disk_size(c->disk), size);
		break;
	default:
		env_delete(kept->disk);
		kept->disk = NULL;
		break;
	}
}

static void *clone_thread(void *arg)
{
	struct cloner *c = arg;

	join_pool(&c->env);
	while (running || c->taken < 3) {
		passed_release(rng_chance(&c->rng, 50) ? c->env.thread : NULL);
		clone_step(c);
		if (!with_keeper)
			ram_pool_tidy(the_pool);
	}
	for (unsigned i = 0; i < KEPT; i++) {
		if (!c->kept[i].disk)
			continue;
		if (hash_disk(&c->env, c->kept[i].disk) != c->kept[i].hash)
			FAIL("a clone or snapshot changed");
		env_delete(c->kept[i].disk);
		c->kept[i].disk = NULL;
	}
	ram_pool_leave(c->env.thread);
	return NULL;
}

/* Growing beside a trim of the old end: what is written behind it is kept,
 * though both lie below one table. */
struct grower {
	struct env env;
	struct ram_disk *disk;
	_Atomic uint64_t size; /* 0: the end */
	_Atomic uint64_t done; /* sizes that were trimmed */
};

static void *trim_thread(void *arg)
{
	struct grower *g = arg;
	uint64_t size, last = 0;

	join_pool(&g->env);
	for (;;) {
		while ((size = g->size) == last)
			sched_yield();
		if (size == 0)
			break;
		CHECK_RC(env_zero(&g->env, g->disk, size, 0, 0), 0);
		last = size;
		g->done = size;
	}
	ram_pool_leave(g->env.thread);
	return NULL;
}

static void grow_beside_trim(uint64_t rounds)
{
	struct grower g = {.size = 0};
	struct ram_disk *disk;
	uint64_t size = 16 * BLOCK_SIZE, lost = 0;
	uint8_t buf[BLOCK_SIZE], got[BLOCK_SIZE];
	pthread_t thread;
	struct rng rng = rng_make(300);
	struct env env;

	test_part("growing beside a trim, %llu rounds",
		  (unsigned long long)rounds);
	env_open(&env, NULL, 16 * MIB, 0);
	the_pool = env.pool;
	with_keeper = false;
	disk = env_create(&env, "grows", size);
	memset(buf, 0x77, sizeof(buf));
	g.disk = disk;
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t next = size + BLOCK_SIZE;

		/* Something to trim, so that there is a table. */
		CHECK_RC(env_write(&env, disk, buf, BLOCK_SIZE, 0, NULL), 0);
		if (i == 0) {
			g.size = size;
			CHECK(pthread_create(&thread, NULL, trim_thread, &g) ==
			      0);
		} else {
			g.size = size;
		}
		for (uint64_t spin = rng_below(&rng, 2000); spin; spin--)
			atomic_thread_fence(memory_order_seq_cst);
		CHECK_RC(ram_disk_resize(disk, next), 0);
		CHECK_RC(env_write(&env, disk, buf, BLOCK_SIZE, size, NULL), 0);
		while (g.done != size)
			sched_yield();
		CHECK_RC(env_read(&env, disk, got, BLOCK_SIZE, size), 0);
		lost += memcmp(got, buf, BLOCK_SIZE) != 0;
		/* Stay below one table. */
		size = next;
		if (size >= 500 * BLOCK_SIZE) {
			CHECK_RC(env_zero(&env, disk, size, 0, 0), 0);
			size = 16 * BLOCK_SIZE;
			CHECK_RC(ram_disk_resize(disk, size), 0);
		}
	}
	g.size = 0;
	pthread_join(thread, NULL);
	if (lost)
		FAIL("%llu of %llu writes behind the end were lost to a trim",
		     (unsigned long long)lost, (unsigned long long)rounds);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
}

static void run(bool keeper, bool cloning, uint64_t steps)
{
	static struct cloner cloner;
	pthread_t threads[WRITERS + 1];
	struct env env;
	uint64_t held;

	test_part("%u writers, %llu steps%s%s", WRITERS,
		  (unsigned long long)steps, keeper ? ", housekeeper" : "",
		  cloning ? ", clones" : "");
	memset(writers, 0, sizeof(writers));
	memset(&cloner, 0, sizeof(cloner));
	env_open(&env, NULL, POOL_SIZE, 4 * MIB);
	the_pool = env.pool;
	with_keeper = keeper;
	env_delete(env_create(&env, "first", 1));
	ram_pool_tidy(env.pool);
	held = env_usage(&env).held;
	if (keeper)
		env_keeper(&env);

	cloner.disk = env_create(&env, "disk", DISK_SIZE);
	cloner.rng = rng_make(100 + keeper);
	running = WRITERS;
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i].number = i;
		writers[i].steps = steps;
		writers[i].rng = rng_make(200 + 10 * keeper + i);
		writers[i].disk = cloner.disk;
		CHECK(pthread_create(&threads[i], NULL, write_thread,
				     &writers[i]) == 0);
	}
	if (cloning)
		CHECK(pthread_create(&threads[WRITERS], NULL, clone_thread,
				     &cloner) == 0);
	for (unsigned i = 0; i < WRITERS + (cloning ? 1 : 0); i++)
		pthread_join(threads[i], NULL);

	/* Once more, now that it is quiet. */
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i].env = env; /* ours */
		for (unsigned row = 0; row < ROWS; row++)
			own_check(&writers[i], cloner.disk, row);
	}
	moment_check(&(struct cloner){.env = env}, cloner.disk);
	if (!keeper)
		env_check(&env);
	env_delete(cloner.disk);
	if (!keeper) {
		ram_pool_tidy(env.pool);
		env_check(&env);
		CHECK_U64(env_usage(&env).held, held);
		CHECK_U64(env_usage(&env).freed, 0);
	}
	if (cloning)
		printf("%llu clones\n", (unsigned long long)cloner.taken);
	env_close(&env);
}

int main(void)
{
	uint64_t steps;

	test_begin("test-store-threads");
	steps = test_count(400000, 300);
	run(false, false, steps);
	run(true, false, steps);
	run(false, true, steps);
	run(true, true, steps);
	grow_beside_trim(test_count(200000, 500));
	return test_end();
}
