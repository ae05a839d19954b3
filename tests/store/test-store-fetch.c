/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks that are used before their data is here: what is asked for, what is waited
 * for, what comes from where when writes, trims, clones and a restart come between. */
#include <pthread.h>
#include <stdatomic.h>

#include "util.h"

#define POOL (64 * MIB)
#define SIZE (5 * MIB + 700) /* three leaves, and a block that is cut */
#define BLOCKS (SIZE / BLOCK_SIZE + 1)
#define SOURCE "a file, the store does not care"

/* What the file has: every seventh block is zeroes. */
static void image_block(uint64_t index, uint8_t *buf)
{
	if (index % 7 == 3)
		memset(buf, 0, BLOCK_SIZE);
	else
		fill_pattern(buf, BLOCK_SIZE, 1000 + index);
	if (index == BLOCKS - 1)
		memset(buf + SIZE % BLOCK_SIZE, 0,
		       BLOCK_SIZE - SIZE % BLOCK_SIZE);
}

static uint64_t block_len(uint64_t index)
{
	return min_u64(BLOCK_SIZE, SIZE - index * BLOCK_SIZE);
}

/* All of it is to come, but for a hole of 100 blocks. */
#define HOLE_AT 600u
#define HOLE_LEN 100u

static void mark(struct env *env, struct ram_disk *disk, uint64_t from,
		 uint64_t end)
{
	uint64_t off = from * BLOCK_SIZE,
		 len = min_u64(SIZE, end * BLOCK_SIZE) - off;

	CHECK_RC(ram_disk_unfetched(disk, env->thread, &len, &off), 0);
	CHECK_U64(len, 0);
}

static struct ram_disk *lazy_disk(struct env *env, const char *name)
{
	struct ram_disk_spec spec = {
		.name = name, .size = SIZE, .state = RAM_MAKING};
	struct ram_disk *disk;
	uint64_t off = 0, len = BLOCK_SIZE;

	CHECK_RC(ram_disk_create(env->pool, &spec, &disk), 0);
	CHECK_RC(ram_disk_unfetched(disk, env->thread, &len, &off), -EINVAL);
	CHECK_RC(ram_disk_source(disk, "", 0), -EINVAL);
	CHECK_RC(ram_disk_source(disk, SOURCE, RAM_SOURCE_MAX + 1), -EINVAL);
	CHECK_RC(ram_disk_source(disk, SOURCE, strlen(SOURCE)), 0);
	mark(env, disk, 0, HOLE_AT);
	mark(env, disk, HOLE_AT + HOLE_LEN, BLOCKS);
	CHECK_RC(ram_disk_fetch_end(disk, env->thread), -EBUSY);
	CHECK_RC(ram_disk_state(disk, RAM_WHOLE), 0);
	return disk;
}

static bool in_hole(uint64_t index)
{
	return index >= HOLE_AT && index < HOLE_AT + HOLE_LEN;
}

static uint64_t missing(struct env *env, struct ram_disk *disk)
{
	struct ram_disk_info info;

	CHECK_RC(env_info(env, disk, RAM_INFO_USAGE, &info), 0);
	CHECK(info.lazy || info.missing == 0);
	return info.missing / BLOCK_SIZE;
}

/* Bring blocks [from, end); the result of the call that failed. */
static int bring(struct env *env, struct ram_disk *disk, uint64_t from,
		 uint64_t end)
{
	uint64_t len = 0, off = from * BLOCK_SIZE;
	uint8_t *buf = malloc((end - from) * BLOCK_SIZE);
	unsigned tries = 0;
	int64_t n = 0;

	CHECK(buf);
	for (uint64_t i = from; i < end; i++) {
		image_block(i, buf + len);
		len += block_len(i);
	}
	for (uint64_t done = 0; done < len && n >= 0;) {
		n = ram_disk_fetched(disk, env->thread, buf + done, len - done,
				     off + done);
		if (n == -EAGAIN) {
			env_again(env, &tries);
			n = 0;
		}
		done += n > 0 ? n : 0;
	}
	free(buf);
	return n < 0 ? (int)n : 0;
}

static void bring_all(struct env *env, struct ram_disk *disk)
{
	uint64_t off = 0, len = 64 * BLOCK_SIZE;

	while (ram_disk_missing(disk, env->thread, &off, &len) == 0) {
		CHECK_RC(bring(env, disk, off / BLOCK_SIZE,
			       (off + len) / BLOCK_SIZE),
			 0);
		len = 64 * BLOCK_SIZE;
	}
}

/* The block is as the file has it. */
static void check_image(struct env *env, struct ram_disk *disk, uint64_t index)
{
	uint8_t got[BLOCK_SIZE] = {0}, want[BLOCK_SIZE];

	CHECK_RC(env_read(env, disk, got, block_len(index), index * BLOCK_SIZE),
		 0);
	image_block(index, want);
	if (in_hole(index))
		memset(want, 0, sizeof(want));
	if (memcmp(got, want, block_len(index)) != 0)
		FAIL("block %llu is not as the file has it",
		     (unsigned long long)index);
}

static void check_key(struct env *env, struct ram_disk *disk, uint64_t index,
		      uint64_t key)
{
	uint8_t got[BLOCK_SIZE], want[BLOCK_SIZE];

	CHECK_RC(env_read(env, disk, got, BLOCK_SIZE, index * BLOCK_SIZE), 0);
	fill_pattern(want, BLOCK_SIZE, key);
	if (memcmp(got, want, BLOCK_SIZE) != 0)
		FAIL("block %llu is not as it was written",
		     (unsigned long long)index);
}

static int write_key(struct env *env, struct ram_disk *disk, uint64_t index,
		     uint64_t key)
{
	uint8_t buf[BLOCK_SIZE];

	fill_pattern(buf, BLOCK_SIZE, key);
	return env_write(env, disk, buf, BLOCK_SIZE, index * BLOCK_SIZE, NULL);
}

/* ------------------------------------------------------------------ parts */

static void alone(void)
{
	uint8_t buf[2 * BLOCK_SIZE] = {0}, want[BLOCK_SIZE];
	struct ram_extent extent;
	struct ram_view view;
	struct ram_disk *disk;
	struct env env;
	uint64_t off;

	test_part("one disk");
	env_open(&env, NULL, POOL, 0);
	disk = lazy_disk(&env, "lazy");
	CHECK(ram_disk_lazy(disk));
	CHECK_U64(missing(&env, disk), BLOCKS - HOLE_LEN);

	/* Nobody fetches: that is an error, and not for ever. */
	CHECK_RC(env_read(&env, disk, buf, 1, 0), -EIO);
	CHECK_RC(ram_disk_ready(disk, env.thread, 1, 0), -EIO);
	ram_pool_fetcher(env.pool, env.thread);
	CHECK_RC(ram_disk_wanted(disk, &off), -ENOENT);
	CHECK_RC(env_read(&env, disk, buf, 1, 9 * BLOCK_SIZE + 5),
		 -EINPROGRESS);
	CHECK_RC(ram_wait(env.thread, 1000), 0); /* the fetcher is told */
	CHECK_RC(env_view(&env, disk, 10, 2 * MIB, &view), -EINPROGRESS);
	CHECK_RC(env_view(&env, disk, 10, 2 * MIB, &view), -EINPROGRESS);
	CHECK_RC(ram_disk_wanted(disk, &off), 0);
	CHECK_U64(off, 9 * BLOCK_SIZE);
	CHECK_RC(ram_disk_wanted(disk, &off), 0);
	CHECK_U64(off, 2 * MIB);
	CHECK_RC(ram_disk_wanted(disk, &off), -ENOENT);
	/* A hole of the file is one, and nothing is waited for there. */
	CHECK_RC(env_read(&env, disk, buf, 1, HOLE_AT * BLOCK_SIZE), 0);
	CHECK_RC(ram_disk_ready(disk, env.thread, HOLE_LEN * BLOCK_SIZE,
				HOLE_AT * BLOCK_SIZE),
		 0);
	CHECK_RC(ram_disk_ready(disk, env.thread, HOLE_LEN * BLOCK_SIZE + 1,
				HOLE_AT * BLOCK_SIZE),
		 -EINPROGRESS);
	CHECK_RC(env_extent(&env, disk, NULL, SIZE, 0, 0, &extent), 0);
	CHECK(extent.kind == RAM_DATA && extent.len == HOLE_AT * BLOCK_SIZE);
	CHECK_RC(env_extent(&env, disk, NULL, SIZE, 0, RAM_EXTENT_SHARED,
			    &extent),
		 0);
	CHECK(extent.kind == RAM_OWN);
	CHECK_RC(ram_disk_fetch_end(disk, env.thread), -EBUSY);

	/* Whole blocks need none of it, and stay when it comes. */
	CHECK_RC(write_key(&env, disk, 20, 1), 0);
	CHECK_RC(env_zero(&env, disk, 2 * BLOCK_SIZE, 22 * BLOCK_SIZE, 0), 0);
	/* Parts of blocks do. */
	CHECK_RC(env_write(&env, disk, buf, 5, 30 * BLOCK_SIZE + 9, NULL),
		 -EINPROGRESS);
	CHECK_RC(env_zero(&env, disk, 5, 31 * BLOCK_SIZE + 9, 0), -EINPROGRESS);
	CHECK_RC(env_stage(&env, disk, BLOCK_SIZE, 32 * BLOCK_SIZE, &view), 0);
	ram_view_release(&view, env.thread);
	CHECK_RC(env_stage(&env, disk, BLOCK_SIZE + 1, 32 * BLOCK_SIZE, &view),
		 -EINPROGRESS);
	CHECK_RC(env_stage(&env, disk, 100, 32 * BLOCK_SIZE + 1, &view),
		 -EINPROGRESS);
	/* What has come already, and waits for memory besides. */
	CHECK_RC(ram_disk_stage(disk, env.thread, 100, 32 * BLOCK_SIZE + 1,
				RAM_UNCHARGED, &view),
		 0);
	view_fill(&view, buf);
	CHECK_RC(env_publish(&env, &view), -EINPROGRESS);
	for (uint64_t i = 30; i <= 32; i++) {
		while (ram_disk_wanted(disk, &off) == 0 &&
		       off != i * BLOCK_SIZE)
			;
		CHECK_U64(off, i * BLOCK_SIZE);
	}
	CHECK_RC(bring(&env, disk, 16, 40), 0);
	CHECK_RC(env_publish(&env, &view), 0);
	ram_view_release(&view, env.thread);
	CHECK_RC(env_write(&env, disk, buf, 5, 30 * BLOCK_SIZE + 9, NULL), 0);
	CHECK_RC(env_zero(&env, disk, 5, 31 * BLOCK_SIZE + 9, 0), 0);
	check_key(&env, disk, 20, 1);
	CHECK_RC(env_read(&env, disk, buf, 2 * BLOCK_SIZE, 22 * BLOCK_SIZE), 0);
	CHECK(buf[0] == 0 && memcmp(buf, buf + 1, sizeof(buf) - 1) == 0);
	for (uint64_t i = 30; i <= 31; i++) {
		CHECK_RC(env_read(&env, disk, buf, BLOCK_SIZE, i * BLOCK_SIZE),
			 0);
		image_block(i, want);
		memset(want + 9, 0, 5);
		CHECK(memcmp(buf, want, BLOCK_SIZE) == 0);
	}
	/* Misshapen ones are refused. */
	CHECK_RC(ram_disk_fetched(disk, env.thread, buf, BLOCK_SIZE, 1),
		 -EINVAL);
	CHECK_RC(ram_disk_fetched(disk, env.thread, buf, 1, 0), -EINVAL);
	CHECK_RC(ram_disk_fetched(disk, env.thread, buf, 701,
				  (BLOCKS - 1) * BLOCK_SIZE),
		 -EINVAL);
	/* It cannot lose what it has not got; but grow. */
	CHECK_RC(ram_disk_resize(disk, SIZE - 1), -EBUSY);
	CHECK_RC(ram_disk_resize(disk, MIB), -EBUSY);
	env_check(&env);
	bring_all(&env, disk);
	CHECK_U64(missing(&env, disk), 0);
	CHECK_RC(ram_disk_fetch_end(disk, env.thread), 0);
	CHECK(!ram_disk_lazy(disk));
	for (uint64_t i = 40; i < BLOCKS; i++)
		check_image(&env, disk, i);
	CHECK_RC(env_extent(&env, disk, NULL, BLOCK_SIZE, 59 * BLOCK_SIZE, 0,
			    &extent),
		 0);
	CHECK(extent.kind == RAM_HOLE); /* zeroes that have come */
	ram_pool_fetcher(env.pool, NULL);
	env_delete(disk);
	env_check(&env);
	env_close(&env);
}

static bool never(void *arg, const struct ram_scrub *so_far)
{
	(void)arg;
	(void)so_far;
	return false;
}

/* A clone and a snapshot of one half of which has come. */
static void shared(void)
{
	struct ram_disk_info info;
	struct ram_disk_spec small = {
		.name = "clone", .quota = 6 * BLOCK_SIZE, .state = RAM_WHOLE};
	struct ram_disk *disk, *clone, *snap;
	struct ram_extent extent;
	struct ram_scrub scrub;
	struct ram_why why;
	uint64_t news, off, held;
	struct env env;

	test_part("shared tables");
	env_open(&env, NULL, POOL, 0);
	ram_pool_fetcher(env.pool, env.thread);
	disk = lazy_disk(&env, "lazy");
	CHECK_RC(bring(&env, disk, 0, 100), 0);
	news = ram_pool_fetch_news(env.pool);
	CHECK_RC(ram_disk_clone(disk, &small, 0, &clone), 0);
	snap = env_clone(disk, "snap", RAM_SNAPSHOT);
	CHECK(ram_pool_fetch_news(env.pool) > news);
	CHECK(ram_disk_lazy(clone) && ram_disk_lazy(snap));
	CHECK_RC(env_info(&env, snap, 0, &info), 0);
	CHECK_U64(info.source_len, strlen(SOURCE));
	CHECK(memcmp(info.source, SOURCE, info.source_len) == 0);
	CHECK_U64(missing(&env, snap), missing(&env, disk));
	CHECK_RC(ram_pool_scrub(env.pool, never, NULL, &scrub, &why), 0);
	CHECK_U64(scrub.done, 3);

	/* By way of one it comes to all, once, and is nobody's own. */
	CHECK_RC(env_info(&env, disk, RAM_INFO_USAGE, &info), 0);
	held = env_usage(&env).held;
	CHECK_RC(bring(&env, clone, 100, 110), 0);
	CHECK_U64(env_usage(&env).held, held + 8 * BLOCK_SIZE); /* two zeroes */
	for (uint64_t i = 90; i < 110; i++) {
		check_image(&env, disk, i);
		check_image(&env, clone, i);
		check_image(&env, snap, i);
	}
	CHECK_RC(env_extent(&env, disk, snap, MIB, 0, 0, &extent), 0);
	CHECK(extent.kind == RAM_SAME);

	/* The first write to a part that is shared waits for that part, so that
	 * nobody has to fetch it twice. */
	CHECK_RC(write_key(&env, clone, 300, 5), -EINPROGRESS);
	for (unsigned n = 0; write_key(&env, clone, 300, 5) != 0; n++) {
		CHECK(n < 512 && ram_disk_wanted(clone, &off) == 0);
		CHECK_RC(bring(&env, clone, off / BLOCK_SIZE,
			       min_u64(off / BLOCK_SIZE + 64, 512)),
			 0);
	}
	check_key(&env, clone, 300, 5);
	check_image(&env, disk, 300);
	check_image(&env, snap, 300);
	CHECK_RC(env_info(&env, clone, RAM_INFO_USAGE, &info), 0);
	CHECK(info.own <= 3 * BLOCK_SIZE); /* root, leaf, data */
	/* A part that is trimmed as a whole does not. */
	CHECK_RC(env_zero(&env, disk, 2 * MIB, 2 * MIB, 0), 0);
	CHECK_RC(env_read(&env, snap, &off, 8, 3 * MIB), -EINPROGRESS);
	CHECK_RC(env_read(&env, disk, &off, 8, 3 * MIB), 0);
	CHECK_U64(off, 0);

	/* When nothing comes any more, what needs nothing goes on. */
	ram_disk_fetch_error(clone, -EIO);
	CHECK_RC(env_read(&env, clone, &off, 8, 3 * MIB), -EIO);
	CHECK_RC(write_key(&env, clone, 1000, 6), 0);
	check_key(&env, clone, 1000, 6);
	ram_disk_fetch_error(clone, 0);
	CHECK_RC(env_read(&env, clone, &off, 8, 3 * MIB), -EINPROGRESS);

	/* The one of which they are made may go. */
	env_delete(disk);
	ram_pool_tidy(env.pool);
	bring_all(&env, snap);
	/* What it has copied unfinished it needs for itself. */
	CHECK_RC(ram_disk_promise(clone, false, 0, 0, NULL, NULL), 0);
	bring_all(&env, clone);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		check_image(&env, snap, i);
		if (i == 300 || i == 1000)
			check_key(&env, clone, i, i == 300 ? 5 : 6);
		else
			check_image(&env, clone, i);
	}
	CHECK_RC(ram_disk_fetch_end(snap, env.thread), 0);
	CHECK_RC(ram_disk_fetch_end(clone, env.thread), 0);
	env_check(&env);
	ram_pool_fetcher(env.pool, NULL);
	env_delete(clone);
	env_delete(snap);
	ram_pool_tidy(env.pool);
	env_check(&env);
	env_close(&env);
}

/* What is not yet there is so after a restart, and after going back. */
static void again(void)
{
	char *folder = test_folder();
	struct ram_disk *disk, *snap, *other;
	struct ram_disk_info info;
	struct env env;
	uint64_t off = 0, len = MIB;

	test_part("restart, rollback, delete");
	env_open(&env, folder, POOL, 0);
	disk = lazy_disk(&env, "lazy");
	CHECK_RC(bring(&env, disk, 0, 100), 0);
	CHECK_RC(write_key(&env, disk, 200, 7), 0);
	ram_disk_put(disk);
	env_close(&env);

	env_open(&env, folder, POOL, 0);
	disk = env_disk(&env, "lazy");
	CHECK_U64(missing(&env, disk), BLOCKS - HOLE_LEN - 101);
	CHECK_RC(env_info(&env, disk, 0, &info), 0);
	CHECK(info.lazy && info.source_len == strlen(SOURCE) &&
	      memcmp(info.source, SOURCE, info.source_len) == 0);
	CHECK_RC(env_read(&env, disk, &off, 8, 150 * BLOCK_SIZE), -EIO);
	check_key(&env, disk, 200, 7);
	check_image(&env, disk, 50);
	ram_pool_fetcher(env.pool, env.thread);

	/* Going back to what had less; becoming what has all. */
	snap = env_clone(disk, "snap", RAM_SNAPSHOT);
	other = env_create(&env, "other", MIB);
	CHECK_RC(write_key(&env, other, 1, 8), 0);
	CHECK_RC(ram_disk_replace(disk, other), 0);
	CHECK(!ram_disk_lazy(disk));
	check_key(&env, disk, 1, 8);
	CHECK_RC(env_info(&env, disk, 0, &info), 0);
	CHECK(!info.lazy && info.source_len == 0);
	CHECK_RC(ram_disk_replace(disk, snap), 0);
	CHECK(ram_disk_lazy(disk));
	CHECK_RC(env_read(&env, disk, &off, 8, 150 * BLOCK_SIZE), -EINPROGRESS);
	bring_all(&env, disk);
	CHECK_RC(ram_disk_fetch_end(disk, env.thread), 0);
	CHECK_U64(missing(&env, snap), 0);
	check_key(&env, snap, 200, 7);
	for (uint64_t i = 201; i < BLOCKS; i++)
		check_image(&env, snap, i);
	env_delete(snap);

	/* Of a deleted one nothing comes any more. */
	snap = lazy_disk(&env, "again");
	CHECK_RC(ram_disk_delete(snap), 0);
	ram_disk_fetch_error(snap, 0);
	CHECK_RC(env_read(&env, snap, &off, 8, 0), -EIO);
	CHECK_RC(ram_disk_replace(disk, snap), -ENOENT);
	CHECK_RC(ram_disk_missing(snap, env.thread, &off, &len), -ENOENT);
	CHECK_RC(ram_disk_fetch_end(snap, env.thread), -ENOENT);
	CHECK_RC(bring(&env, snap, 0, 4), 0);
	ram_disk_put(snap);
	ram_pool_tidy(env.pool);
	env_check(&env);
	ram_pool_fetcher(env.pool, NULL);
	ram_disk_put(disk);
	ram_disk_put(other);
	env_close(&env);
	test_remove(folder);
	free(folder);
}

/* ------------------------------------------------- while a table is moved */

static struct {
	struct env *env;
	struct ram_disk *disk;
	pthread_t mover;
	_Atomic unsigned asked, brought;
	_Atomic bool over;
} meeting;

static void nap(void)
{
	const struct timespec ts = {.tv_nsec = 200000};

	nanosleep(&ts, NULL);
}

/* At each store that publishes something of the one who writes, another brings a
 * block to the table that is being moved; it must wait, so for a moment only. */
static bool at_publish(enum ram_fault kind)
{
	unsigned asked;

	if (kind != RAM_FAULT_BEFORE_PUBLISH ||
	    !pthread_equal(pthread_self(), meeting.mover))
		return false;
	asked = atomic_fetch_add(&meeting.asked, 1) + 1;
	for (unsigned i = 0; i < 150 && meeting.brought < asked; i++)
		nap();
	return false;
}

static void *bring_each(void *arg)
{
	struct env env = *meeting.env;
	unsigned n = 0;

	CHECK_RC(ram_pool_join(env.pool, NULL, NULL, &env.thread), 0);
	while (!meeting.over) {
		if (n == meeting.asked) {
			nap();
			continue;
		}
		n++;
		CHECK_RC(bring(&env, meeting.disk, 40 + 7 * n, 41 + 7 * n), 0);
		meeting.brought = n;
	}
	ram_pool_leave(env.thread);
	return arg;
}

static void moved(void)
{
	struct ram_disk *disk;
	pthread_t thread;
	struct env env;

	test_part("what comes while its table is moved");
	env_open(&env, NULL, POOL, 0);
	disk = lazy_disk(&env, "lazy");
	/* No table is the disk's to change in place afterwards, nor shared. */
	env_delete(env_clone(disk, "clone", 0));
	ram_pool_tidy(env.pool);
	meeting.env = &env;
	meeting.disk = disk;
	meeting.mover = pthread_self();
	ram_fault_hook = at_publish;
	CHECK(pthread_create(&thread, NULL, bring_each, NULL) == 0);
	CHECK_RC(write_key(&env, disk, 5, 3), 0);
	meeting.over = true;
	pthread_join(thread, NULL);
	ram_fault_hook = NULL;
	CHECK(meeting.asked >= 3); /* root, leaf, block */
	env_check(&env);
	bring_all(&env, disk);
	check_key(&env, disk, 5, 3);
	for (uint64_t i = 6; i < BLOCKS; i++)
		check_image(&env, disk, i);
	env_check(&env);
	env_delete(disk);
	ram_pool_tidy(env.pool);
	env_check(&env);
	env_close(&env);
}

/* -------------------------------------------------------------- all at once */

struct crowd {
	struct env *env;
	struct ram_disk *disk;
	_Atomic bool over;
	unsigned number;
};

/* Block i belongs to thread i % 4: 0, 1: it is written as a whole; 2: trimmed;
 * 3: a part of it is written. Every eighth group of four alone, the rest stays as
 * the file has it. */
static unsigned kind_of(uint64_t index)
{
	return index / 4 % 8 == 0 && index < BLOCKS - 1 ? index % 4 : 4;
}

static int64_t change_one(struct crowd *c, struct ram_thread *t, uint64_t index,
			  uint64_t *cursor)
{
	uint64_t off = index * BLOCK_SIZE;
	uint8_t buf[BLOCK_SIZE];

	fill_pattern(buf, BLOCK_SIZE, index);
	if (c->number == 2)
		return ram_disk_zero(c->disk, t, BLOCK_SIZE, off, 0, cursor);
	if (c->number == 3)
		return ram_disk_write(c->disk, t, buf, 100, off + 50);
	return ram_disk_write(c->disk, t, buf, BLOCK_SIZE, off);
}

static void *change_some(void *arg)
{
	struct crowd *c = arg;
	struct ram_thread *t;
	uint64_t cursor;
	int64_t rc;

	CHECK_RC(ram_pool_join(c->env->pool, NULL, NULL, &t), 0);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		if (kind_of(i) != c->number)
			continue;
		cursor = 0;
		/* Whoever waits is woken. */
		while ((rc = change_one(c, t, i, &cursor)) == -EAGAIN ||
		       rc == -EINPROGRESS)
			CHECK_RC(ram_wait(t, 20000), 0);
		CHECK(rc >= 0);
	}
	ram_pool_leave(t);
	return NULL;
}

static void *clone_some(void *arg)
{
	struct crowd *c = arg;
	struct ram_disk *snap;
	uint64_t last = 0;
	struct ram_thread *t;

	CHECK_RC(ram_pool_join(c->env->pool, NULL, NULL, &t), 0);
	while (!atomic_load(&c->over)) {
		snap = env_clone(c->disk, "moment",
				 last++ % 2 ? RAM_SNAPSHOT : 0);
		CHECK_RC(ram_disk_delete(snap), 0);
		ram_disk_put(snap);
	}
	ram_pool_leave(t);
	return NULL;
}

static void verify_crowd(struct env *env, struct ram_disk *disk)
{
	uint8_t got[BLOCK_SIZE], want[BLOCK_SIZE], part[BLOCK_SIZE];

	for (uint64_t i = 0; i < BLOCKS; i++) {
		if (kind_of(i) == 4) {
			check_image(env, disk, i);
			continue;
		}
		CHECK_RC(env_read(env, disk, got, BLOCK_SIZE, i * BLOCK_SIZE),
			 0);
		image_block(i, want);
		fill_pattern(part, BLOCK_SIZE, i);
		if (kind_of(i) == 2 || in_hole(i))
			memset(want, 0, BLOCK_SIZE);
		if (kind_of(i) < 2)
			memcpy(want, part, BLOCK_SIZE);
		else if (kind_of(i) == 3)
			memcpy(want + 50, part, 100);
		if (memcmp(got, want, BLOCK_SIZE) != 0)
			FAIL("block %llu of kind %u is wrong",
			     (unsigned long long)i, kind_of(i));
	}
}

static void crowd(unsigned round)
{
	struct crowd c[5] = {{.env = NULL}};
	pthread_t thread[5];
	struct rng rng = rng_make(round);
	struct ram_disk *disk;
	struct env env;
	uint64_t off, len;

	env_open(&env, NULL, POOL, 0);
	env_keeper(&env);
	ram_pool_fetcher(env.pool, env.thread);
	disk = lazy_disk(&env, "lazy");
	for (unsigned i = 0; i < 5; i++) {
		c[i].env = &env;
		c[i].disk = disk;
		c[i].number = i;
		CHECK(pthread_create(&thread[i], NULL,
				     i == 4 ? clone_some : change_some,
				     &c[i]) == 0);
	}
	/* Without clones nothing wakes but what comes. */
	atomic_store(&c[4].over, round % 2 == 0);
	/* Here and there, what is wanted first, until all is there. */
	for (;;) {
		off = ram_disk_wanted(disk, &off) == 0
			      ? off
			      : rng_below(&rng, BLOCKS) * BLOCK_SIZE;
		len = (1 + rng_below(&rng, 40)) * BLOCK_SIZE;
		if (ram_disk_missing(disk, env.thread, &off, &len)) {
			off = 0;
			if (ram_disk_missing(disk, env.thread, &off, &len))
				break;
		}
		CHECK_RC(bring(&env, disk, off / BLOCK_SIZE,
			       (off + len) / BLOCK_SIZE),
			 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&c[4].over, true);
	pthread_join(thread[4], NULL);
	CHECK_RC(ram_disk_fetch_end(disk, env.thread), 0);
	verify_crowd(&env, disk);
	ram_pool_fetcher(env.pool, NULL);
	env_delete(disk);
	env_close(&env);
}

int main(void)
{
	test_begin("test-store-fetch");
	alone();
	shared();
	again();
	moved();
	test_part("writers, trims, clones and the fetcher at once");
	for (unsigned round = 0; round < test_count(100, 4); round++)
		crowd(round);
	return test_end();
}
