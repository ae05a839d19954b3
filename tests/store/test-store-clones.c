/* SPDX-License-Identifier: BSD-3-Clause */
/* What a clone costs: of a full disk of 16 GiB under a millisecond, and no memory
 * but its slot; ten thousand of them no more than that, each; a pool that holds
 * them opens in under a second; the first write takes 16 KiB at most, a thousand
 * in 1 GiB 6 KiB each; parents go before their clones; and all of it comes
 * back. What `show` tells of memory is what is so, to the block. */
#include "store.h"
#include "util.h"

#define DISK (16 * GIB)
#define FULL_COUNT 10000

static struct env env;
static char *folder;

/* As much as a full run fills, and a run scaled down of it; both much more than
 * all clones take. */
static uint64_t data_size;

static void fill(struct ram_disk *disk, uint64_t size, uint64_t key)
{
	static uint8_t piece[MIB];
	uint64_t off;

	fill_pattern(piece, sizeof(piece), key);
	for (off = 0; off < size; off += sizeof(piece))
		CHECK_RC(env_write(&env, disk, piece, sizeof(piece), off, NULL),
			 0);
}

static uint64_t held(void)
{
	if (!env.keeper)
		ram_pool_tidy(env.pool);
	return env_usage(&env).held;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void name_of(char name[32], unsigned i)
{
	snprintf(name, 32, "clone-%u", i);
}

/* Of a chain of parents as of one parent: every tenth is made of the one before,
 * and every hundredth is a snapshot. */
static void make(struct ram_disk *gold, unsigned count)
{
	uint64_t *took = calloc(count, sizeof(*took)), before = held(), begin;
	struct ram_disk *last = NULL, *clone;
	char name[32];
	unsigned i;

	CHECK(took);
	for (i = 0; i < count; i++) {
		name_of(name, i);
		begin = test_now();
		clone = env_clone(i % 10 || !last ? gold : last, name,
				  i % 100 ? 0 : RAM_SNAPSHOT);
		took[i] = test_now() - begin;
		ram_disk_put(last);
		last = clone;
	}
	ram_disk_put(last);
	qsort(took, count, sizeof(*took), by_size);
	printf("%u clones of %llu MiB: half of them within %.3f ms, 99%% "
	       "within %.3f ms, all within %.3f ms; %.0f bytes each\n",
	       count, (unsigned long long)(data_size / MIB),
	       (double)took[count / 2] / 1e6,
	       (double)took[count * 99 / 100] / 1e6,
	       (double)took[count - 1] / 1e6,
	       (double)(held() - before) / count);
	CHECK(test_slowed() || took[count / 2] < 1000000);
	/* A slot each, and what leads to them. */
	CHECK(held() - before <=
	      (uint64_t)count * RAM_BLOCK * 513 / 512 + 8 * RAM_BLOCK);
	free(took);
}

static void reopen(const char *what, uint64_t size)
{
	uint64_t begin, took;

	env_close(&env);
	begin = test_now();
	env_open(&env, folder, size, MIB);
	took = test_now() - begin;
	printf("%s: opened in %.0f ms\n", what, (double)took / 1e6);
	CHECK(test_slowed() || took < 1000000000);
}

static void check_content(struct ram_disk *disk, uint64_t key, bool touched)
{
	static uint8_t want[MIB], got[MIB];

	fill_pattern(want, sizeof(want), key);
	CHECK_RC(env_read(&env, disk, got, sizeof(got), data_size - MIB), 0);
	CHECK(memcmp(want, got, sizeof(got)) == 0);
	CHECK_RC(env_read(&env, disk, got, RAM_BLOCK, 0), 0);
	if (!touched)
		CHECK(memcmp(want, got, RAM_BLOCK) == 0);
}

/* Some write, so that their trees differ. */
static void diverge(unsigned count)
{
	struct ram_disk *clone;
	uint8_t data[RAM_BLOCK];
	char name[32];
	unsigned i;

	for (i = 1; i < count; i += 7) {
		if (i % 100 == 0)
			continue;
		name_of(name, i);
		clone = env_disk(&env, name);
		fill_pattern(data, sizeof(data), i);
		CHECK_RC(env_write(&env, clone, data, sizeof(data), 0, NULL),
			 0);
		ram_disk_put(clone);
	}
}

static void check_all(unsigned count)
{
	uint8_t want[RAM_BLOCK], got[RAM_BLOCK];
	struct ram_disk *clone;
	char name[32];
	unsigned i;

	for (i = 0; i < count; i++) {
		name_of(name, i);
		clone = env_disk(&env, name);
		check_content(clone, 1, i % 7 == 1 && i % 100);
		if (i % 7 == 1 && i % 100) {
			fill_pattern(want, sizeof(want), i);
			CHECK_RC(env_read(&env, clone, got, sizeof(got), 0), 0);
			CHECK(memcmp(want, got, sizeof(got)) == 0);
		}
		ram_disk_put(clone);
	}
}

static void many(unsigned count)
{
	uint64_t size = data_size + count * 40 * KIB + 256 * MIB, before;
	struct ram_disk *gold;
	char name[32];
	unsigned i;

	env_open(&env, folder, size, MIB);
	gold = env_create(&env, "gold", DISK);
	fill(gold, data_size, 1);
	before = held();
	test_part("%u clones", count);
	make(gold, count);
	ram_disk_put(gold);
	reopen("with clones", size);
	diverge(count);
	test_part("%u clones that differ", count);
	reopen("with clones that differ", size);
	env_check(&env);

	test_part("parents go first, then every second clone");
	env_delete(env_disk(&env, "gold"));
	for (i = 0; i < count; i += 2) {
		name_of(name, i);
		env_delete(env_disk(&env, name));
	}
	for (i = 1; i < count; i += 50) {
		name_of(name, i);
		gold = env_disk(&env, name);
		check_content(gold, 1, true);
		ram_disk_put(gold);
	}
	CHECK(held() >= before - MIB);
	test_part("all of them");
	for (i = 1; i < count; i += 2) {
		name_of(name, i);
		env_delete(env_disk(&env, name));
	}
	CHECK(held() < MIB);
	env_check(&env);
	env_close(&env);
}

/* Each still reads as it should, before any is gone. */
static void some(unsigned count)
{
	struct ram_disk *gold;

	env_open(&env, NULL, data_size + GIB, MIB);
	gold = env_create(&env, "gold", DISK);
	fill(gold, data_size, 1);
	make(gold, count);
	diverge(count);
	check_all(count);
	check_content(gold, 1, false);
	ram_disk_put(gold);
	env_close(&env);
}

/* ------------------------------------------------------- memory per write */

static void usage_of(struct ram_disk *disk, struct ram_disk_info *info)
{
	CHECK_RC(env_info(&env, disk, RAM_INFO_USAGE, info), 0);
	CHECK_U64(info->held, info->own + info->shared);
}

static void per_write(void)
{
	struct ram_disk *gold, *clone;
	struct ram_disk_info info, parent;
	struct rng rng = rng_make(7);
	uint8_t data[RAM_BLOCK] = {1};
	uint64_t before, off, i, full;

	env_open(&env, NULL, 2 * GIB, MIB);
	gold = env_create(&env, "gold", GIB);
	fill(gold, GIB, 2);
	usage_of(gold, &parent);
	/* Its data, a table for 512 blocks, and one above them. */
	full = GIB + (512 + 1) * RAM_BLOCK;
	CHECK_U64(parent.held, full);
	CHECK_U64(parent.own, full);
	clone = env_clone(gold, "clone", 0);
	usage_of(clone, &info);
	CHECK_U64(info.held, full);
	CHECK_U64(info.own, 0);
	usage_of(gold, &parent);
	CHECK_U64(parent.own, 0);

	before = held();
	CHECK_RC(env_write(&env, clone, data, sizeof(data), 123 * MIB, NULL),
		 0);
	printf("the first write: %llu bytes\n",
	       (unsigned long long)(held() - before));
	CHECK(held() - before <= 16 * KIB);
	usage_of(clone, &info);
	CHECK_U64(info.own, held() - before);
	CHECK_U64(info.held, full);
	for (i = 1; i < 1000; i++) {
		off = rng_below(&rng, GIB / RAM_BLOCK) * RAM_BLOCK;
		CHECK_RC(env_write(&env, clone, data, sizeof(data), off, NULL),
			 0);
	}
	printf("of a thousand: %llu bytes each\n",
	       (unsigned long long)(held() - before) / 1000);
	CHECK(held() - before <= 1000 * 6 * KIB);
	usage_of(clone, &info);
	CHECK_U64(info.own, held() - before);
	/* What the clone has replaced is the parent's alone now. */
	usage_of(gold, &parent);
	CHECK_U64(parent.own, info.own);
	CHECK_U64(parent.shared, info.shared);

	/* With the parent, what it alone had goes, and all else is one's own. */
	env_delete(gold);
	CHECK(held() >= full);
	usage_of(clone, &info);
	CHECK_U64(info.own, info.held);
	CHECK_U64(info.held, full);
	ram_disk_put(clone);
	env_close(&env);
}

int main(void)
{
	unsigned count;

	test_begin("test-store-clones");
	count = (unsigned)test_count(FULL_COUNT, 1000);
	data_size = test_count(DISK / MIB, 64) * MIB;
	/* Not more than the machine is likely to have to spare. */
	if (data_size > 8 * GIB)
		data_size = 8 * GIB;
	folder = test_folder();
	test_part("memory of the first writes");
	per_write();
	test_part("contents of clones");
	some(300);
	many(count);
	free(folder);
	return test_end();
}
