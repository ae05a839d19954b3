/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory goes back to the host: after a trim, a zeroing and a delete the
 * backing occupies what it did before, with the warm reserve filled, and at
 * most 2 MiB more. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <time.h>

#include "util.h"

#define WARM (16 * MIB)
#define SLACK (2 * MIB)
#define BACK_WITHIN 2000000000 /* ns, by the housekeeper */

enum way {
	BY_TRIM,
	BY_DELETE,
	BY_REPLACE,
	WAYS
};
static const char *const way_names[WAYS] = {"trim", "delete", "replace"};

static uint8_t buf[MIB];

static uint64_t occupied(const char *file)
{
	struct stat st;

	if (stat(file, &st) != 0)
		FAIL("stat %s: %m", file);
	return (uint64_t)st.st_blocks * 512;
}

static void back_again(struct env *env, uint64_t before, uint64_t begin)
{
	struct timespec pause = {0, 2000000};
	uint64_t now;

	/* Nothing tells when memory is back; look often. */
	while ((now = env_usage(env).backing) > before + SLACK) {
		if (!env->keeper)
			FAIL("%llu KiB are still held, %llu before",
			     (unsigned long long)now / 1024,
			     (unsigned long long)before / 1024);
		if (test_now() - begin >
		    (uint64_t)BACK_WITHIN * (test_slowed() ? 10 : 1))
			FAIL("%llu KiB are still held after 2 s, %llu before",
			     (unsigned long long)now / 1024,
			     (unsigned long long)before / 1024);
		nanosleep(&pause, NULL);
	}
}

static void there_and_back(enum way way, bool folder, bool keeper,
			   uint64_t amount)
{
	char *path = folder ? test_folder() : NULL;
	struct ram_disk *disk, *empty;
	struct ram_usage usage;
	struct env env;
	uint64_t before, begin;
	char *file = NULL;

	test_part("%s, %s, %s: %llu MiB", way_names[way],
		  folder ? "folder" : "anonymous",
		  keeper ? "housekeeper" : "tidy",
		  (unsigned long long)(amount / MIB));
	env_open(&env, path, 2 * amount, WARM);
	empty = env_create(&env, "empty", amount);
	ram_pool_tidy(env.pool);
	usage = env_usage(&env);
	/* The reserve is filled, or else the comparison means nothing. */
	CHECK(usage.warm >= WARM - MIB && usage.warm <= WARM + SLACK);
	before = usage.backing;
	CHECK(before >= usage.warm);
	if (folder) {
		file = test_pool_file(path);
		CHECK(file);
		CHECK_U64(occupied(file), before);
	}
	if (keeper)
		env_keeper(&env);

	for (unsigned round = 0; round < 2; round++) {
		disk = env_create(&env, "disk", amount);
		for (uint64_t off = 0; off < amount; off += sizeof(buf)) {
			fill_pattern(buf, sizeof(buf), off + round);
			CHECK_RC(env_write(&env, disk, buf, sizeof(buf), off,
					   NULL),
				 0);
		}
		usage = env_usage(&env);
		CHECK(usage.held >= amount);
		CHECK(usage.backing >= amount);
		/* Tables: 8 bytes for 4096, and little else. */
		CHECK(usage.held <= amount + amount / 256 + MIB);

		begin = test_now();
		if (way == BY_TRIM)
			CHECK_RC(env_zero(&env, disk, amount, 0, 0), 0);
		else if (way == BY_REPLACE)
			CHECK_RC(ram_disk_replace(disk, empty), 0);
		else
			CHECK_RC(ram_disk_delete(disk), 0);
		if (way == BY_DELETE) {
			ram_disk_put(disk);
			disk = NULL;
		}
		if (!keeper)
			ram_pool_tidy(env.pool);
		back_again(&env, before, begin);
		if (file)
			CHECK(occupied(file) <= before + SLACK);
		if (disk)
			env_delete(disk);
	}
	if (!keeper) {
		ram_pool_tidy(env.pool);
		env_check(&env);
	}
	env_delete(empty);
	env_close(&env);
	if (path)
		test_remove(path);
	free(file);
	free(path);
}

/* With a snapshot nothing may be given back before it goes as well. */
static void snapshot_keeps(uint64_t amount)
{
	struct ram_disk *disk, *snapshot;
	struct env env;
	uint64_t before;

	test_part("a snapshot keeps it: %llu MiB",
		  (unsigned long long)(amount / MIB));
	env_open(&env, NULL, 2 * amount, 0);
	disk = env_create(&env, "disk", amount);
	ram_pool_tidy(env.pool);
	before = env_usage(&env).backing;
	for (uint64_t off = 0; off < amount; off += sizeof(buf)) {
		fill_pattern(buf, sizeof(buf), off);
		CHECK_RC(env_write(&env, disk, buf, sizeof(buf), off, NULL), 0);
	}
	snapshot = env_clone(disk, "snapshot", RAM_SNAPSHOT);
	env_delete(disk);
	ram_pool_tidy(env.pool);
	CHECK(env_usage(&env).held >= amount);
	for (uint64_t off = 0; off < amount; off += sizeof(buf)) {
		static uint8_t got[sizeof(buf)];

		fill_pattern(buf, sizeof(buf), off);
		CHECK_RC(env_read(&env, snapshot, got, sizeof(got), off), 0);
		CHECK(memcmp(got, buf, sizeof(buf)) == 0);
	}
	env_delete(snapshot);
	ram_pool_tidy(env.pool);
	back_again(&env, before, test_now());
	env_check(&env);
	env_close(&env);
}

/* Scattered holes go back too, in whatever pieces they are. */
static void every_other_block(uint64_t amount)
{
	struct ram_disk *disk;
	struct env env;
	uint64_t before;

	test_part("every other block of %llu MiB",
		  (unsigned long long)(amount / MIB));
	env_open(&env, NULL, 2 * amount, 0);
	disk = env_create(&env, "disk", amount);
	ram_pool_tidy(env.pool);
	before = env_usage(&env).backing;
	for (uint64_t off = 0; off < amount; off += sizeof(buf)) {
		fill_pattern(buf, sizeof(buf), off);
		CHECK_RC(env_write(&env, disk, buf, sizeof(buf), off, NULL), 0);
	}
	for (uint64_t off = 0; off < amount; off += 2 * BLOCK_SIZE)
		CHECK_RC(env_zero(&env, disk, BLOCK_SIZE, off, 0), 0);
	ram_pool_tidy(env.pool);
	back_again(&env, before + amount / 2 + amount / 256, test_now());
	env_check(&env);
	env_delete(disk);
	ram_pool_tidy(env.pool);
	back_again(&env, before, test_now());
	env_close(&env);
}

int main(void)
{
	uint64_t amount;

	test_begin("test-store-memory");
	amount = round_up(test_count(GIB, 128 * MIB), 2 * MIB);
	for (unsigned way = 0; way < WAYS; way++)
		for (unsigned variant = 0; variant < 4; variant++)
			there_and_back((enum way)way, variant & 1, variant & 2,
				       amount);
	snapshot_keeps(amount / 2);
	every_other_block(amount / 4);
	return test_end();
}
