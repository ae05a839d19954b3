/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole blocks of zeroes become holes where that is asked for: written, staged,
 * over data of one's own and of a snapshot; only whole ones, and not those that
 * are to be kept. The counts are right afterwards. */
#include "util.h"

#define DISK (16 * MIB)

static uint8_t buf[MIB], got[MIB], zeroes[MIB], model[DISK];

static uint64_t held(struct env *env, struct ram_disk *disk)
{
	struct ram_disk_info info;

	CHECK_RC(env_info(env, disk, RAM_INFO_USAGE, &info), 0);
	return info.held;
}

static bool is_hole(struct env *env, struct ram_disk *disk, uint64_t off)
{
	struct ram_extent extent;

	CHECK_RC(env_extent(env, disk, NULL, RAM_BLOCK, off, 0, &extent), 0);
	return extent.kind == RAM_HOLE;
}

static void put_staged(struct env *env, struct ram_disk *disk,
		       const uint8_t *data, uint64_t len, uint64_t off)
{
	struct ram_view view;

	for (; len > 0; data += view.len, off += view.len, len -= view.len) {
		CHECK_RC(env_stage(env, disk, len, off, &view), 0);
		CHECK(view.len > 0);
		view_fill(&view, data);
		CHECK_RC(env_publish(env, &view), 0);
		ram_view_release(&view, env->thread);
	}
}

static void put(struct env *env, struct ram_disk *disk, const void *data,
		uint64_t len, uint64_t off, bool staged)
{
	if (staged)
		put_staged(env, disk, data, len, off);
	else
		CHECK_RC(env_write(env, disk, data, len, off, NULL), 0);
}

static void zeroes_written(struct env *env, struct ram_disk *disk, bool staged)
{
	uint64_t tables, i;

	fill_pattern(buf, sizeof(buf), 3);
	put(env, disk, buf, MIB, 0, staged);
	tables = held(env, disk) - MIB;

	ram_disk_detect_zeroes(disk, false);
	put(env, disk, zeroes, MIB, 0, staged);
	CHECK_U64(held(env, disk), MIB + tables);
	ram_disk_detect_zeroes(disk, true);
	put(env, disk, zeroes, MIB, 0, staged);
	CHECK_U64(held(env, disk), tables);
	put(env, disk, zeroes, MIB, 0, staged); /* holes already */
	CHECK_U64(held(env, disk), tables);

	/* Every other block; and what is no whole block. */
	for (i = 0; i < MIB; i += 2 * RAM_BLOCK)
		memset(buf + i, 0, RAM_BLOCK);
	put(env, disk, buf, MIB, 0, staged);
	CHECK_U64(held(env, disk), MIB / 2 + tables);
	CHECK(is_hole(env, disk, 0) && !is_hole(env, disk, RAM_BLOCK));
	put(env, disk, zeroes, RAM_BLOCK, 2 * RAM_BLOCK + 512, staged);
	CHECK(!is_hole(env, disk, 2 * RAM_BLOCK));
	CHECK_RC(env_read(env, disk, got, 512, 3 * RAM_BLOCK), 0);
	CHECK(memcmp(got, zeroes, 512) == 0);
	/* One byte is enough. */
	buf[RAM_BLOCK - 1] = 1;
	put(env, disk, buf, RAM_BLOCK, 0, staged);
	CHECK(!is_hole(env, disk, 0));

	/* What is to be kept is kept. */
	CHECK_RC(env_zero(env, disk, MIB, 0, RAM_KEEP), 0);
	CHECK_U64(held(env, disk), MIB + tables);
	CHECK_RC(env_zero(env, disk, MIB, 0, 0), 0);
	env_check(env);
}

/* Where a snapshot has the old block, and below a quota. */
static void shared(struct env *env)
{
	struct ram_disk_spec spec = {
		.name = "quota",
		.size = DISK,
		.quota = MIB + 16 * RAM_BLOCK,
		.state = RAM_WHOLE,
	};
	struct ram_disk *disk, *snapshot;
	unsigned i;

	CHECK_RC(ram_disk_create(env->pool, &spec, &disk), 0);
	ram_disk_detect_zeroes(disk, true);
	fill_pattern(buf, sizeof(buf), 4);
	CHECK_RC(env_write(env, disk, buf, MIB, 0, NULL), 0);
	snapshot = env_clone(disk, "snapshot", RAM_SNAPSHOT);
	put(env, disk, zeroes, MIB, 0, false);
	CHECK(held(env, disk) < 16 * RAM_BLOCK);
	CHECK(held(env, snapshot) >= MIB);
	/* The quota does not fill up with what is not there. */
	for (i = 0; i < 20; i++) {
		CHECK_RC(env_write(env, disk, buf, MIB / 2, 0, NULL), 0);
		put(env, disk, zeroes, MIB / 2, 0, i & 1);
	}
	CHECK_RC(env_read(env, snapshot, got, MIB, 0), 0);
	CHECK(memcmp(buf, got, MIB) == 0);
	env_check(env);
	env_delete(snapshot);
	env_delete(disk);
}

static void mixed(struct env *env)
{
	struct ram_disk *disk = env_create(env, "mixed", DISK);
	struct rng rng = rng_make(1);
	uint64_t i, n = test_count(20000, 500), off, len, at;

	memset(model, 0, sizeof(model));
	for (i = 0; i < n; i++) {
		ram_disk_detect_zeroes(disk, rng_chance(&rng, 80));
		len = 1 + rng_below(&rng, sizeof(buf) / 4);
		off = rng_below(&rng, DISK - len);
		rng_fill(&rng, buf, len);
		for (at = 0; at + 8192 < len;
		     at += 8192 + rng_below(&rng, 9000))
			memset(buf + at, 0, 8192);
		put(env, disk, buf, len, off, rng_chance(&rng, 50));
		memcpy(model + off, buf, len);
	}
	for (off = 0; off < DISK; off += sizeof(got)) {
		CHECK_RC(env_read(env, disk, got, sizeof(got), off), 0);
		CHECK(memcmp(got, model + off, sizeof(got)) == 0);
	}
	env_check(env);
	ram_disk_detect_zeroes(disk, true);
	for (off = 0; off < DISK; off += MIB)
		put(env, disk, zeroes, MIB, off, false);
	CHECK(held(env, disk) <= 16 * RAM_BLOCK);
	env_delete(disk);
}

int main(void)
{
	struct ram_disk *disk;
	struct env env;
	uint64_t tables;

	test_begin("test-store-detect-zeroes");
	env_open(&env, NULL, 64 * MIB, 0);
	disk = env_create(&env, "disk", DISK);
	test_part("written");
	zeroes_written(&env, disk, false);
	test_part("staged");
	zeroes_written(&env, disk, true);
	env_delete(disk);
	ram_pool_tidy(env.pool);
	tables = env_usage(&env).tables;
	CHECK(tables > 0 && tables < 8 * RAM_BLOCK);
	test_part("shared with a snapshot, and below a quota");
	shared(&env);
	test_part("mixed with data");
	mixed(&env);
	ram_pool_tidy(env.pool);
	/* And so are the tables. */
	CHECK_U64(env_usage(&env).tables, tables);
	CHECK(env_usage(&env).held <= MIB);
	CHECK_U64(env_usage(&env).refusals, 0);
	env_check(&env);
	env_close(&env);
	return test_end();
}
