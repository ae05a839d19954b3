/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks of any size from 1 byte to 2^63 - 1, and of any legal name. */
#include "model.h"
#include "util.h"

/* Making a disk is constant work; so long is never needed for it, however slow
 * the machine. */
#define INSTANT 50000000 /* ns */

static void in_no_time(uint64_t begin, const char *what)
{
	uint64_t took = test_now() - begin;

	if (took > INSTANT && !test_slowed())
		FAIL("%s took %llu us", what,
		     (unsigned long long)(took / 1000));
}

static void one_byte(struct env *env, struct ram_disk *disk, uint64_t off,
		     uint8_t value)
{
	uint8_t got[3] = {0x55, 0x55, 0x55};

	CHECK_RC(env_write(env, disk, &value, 1, off, NULL), 0);
	CHECK_RC(env_read(env, disk, &got[1], 1, off), 0);
	CHECK(got[0] == 0x55 && got[1] == value && got[2] == 0x55);
}

static void outside(struct env *env, struct ram_disk *disk, uint64_t len,
		    uint64_t off)
{
	uint64_t cursor = 0;
	struct ram_view view;
	uint8_t buf[2] = {1, 1};

	CHECK(len <= sizeof(buf));
	CHECK_RC(ram_disk_write(disk, env->thread, buf, len, off), -EINVAL);
	CHECK_RC(ram_disk_read(disk, env->thread, buf, len, off), -EINVAL);
	CHECK_RC(ram_disk_stage(disk, env->thread, len, off, RAM_LAST, &view),
		 -EINVAL);
	CHECK_RC(ram_disk_zero(disk, env->thread, len, off, 0, &cursor),
		 -EINVAL);
}

static void huge(uint64_t size, const char *name)
{
	struct env env;
	struct ram_disk *disk;
	struct ram_usage before, after;
	uint64_t begin;

	test_part("%s", name);
	env_open(&env, NULL, 16 * MIB, 0);
	before = env_usage(&env);
	begin = test_now();
	disk = env_create(&env, name, size);
	in_no_time(begin, "making a huge disk");
	CHECK_U64(ram_disk_size(disk), size);
	begin = test_now();
	one_byte(&env, disk, 0, 11);
	one_byte(&env, disk, size - 1, 12);
	one_byte(&env, disk, size / 2, 13);
	one_byte(&env, disk, 0, 14);
	in_no_time(begin, "writing single bytes");
	outside(&env, disk, 1, size);
	outside(&env, disk, 2, size - 1);
	outside(&env, disk, 1, UINT64_MAX);
	outside(&env, disk, 2, UINT64_MAX - 1);
	after = env_usage(&env);
	/* Three blocks, their tables (at most six levels each), one slot and
	 * the tables of the internal disk. */
	CHECK(after.held - before.held <= (3 + 3 * LEVEL_MAX + 3) * BLOCK_SIZE);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
}

static void odd(uint64_t size)
{
	struct env env;
	struct ram_disk *disk;
	struct model *model;
	struct rng rng = rng_make(size);
	uint8_t *buf = malloc(size);
	uint64_t cursor = 0;

	test_part("size %llu", (unsigned long long)size);
	CHECK(buf);
	env_open(&env, NULL, 16 * MIB, 0);
	disk = env_create(&env, "odd", size);
	model = model_for_size(size);
	model_verify(model, &env, disk, "fresh");
	rng_fill(&rng, buf, size);
	CHECK_RC(env_write(&env, disk, buf, size, 0, NULL), 0);
	model_write(model, buf, size, 0);
	model_verify(model, &env, disk, "written whole");
	one_byte(&env, disk, size - 1, 77);
	buf[size - 1] = 77;
	model_write(model, &buf[size - 1], 1, size - 1);
	one_byte(&env, disk, 0, 78);
	buf[0] = 78;
	model_write(model, &buf[0], 1, 0);
	model_verify(model, &env, disk, "first and last byte");
	outside(&env, disk, 1, size);
	outside(&env, disk, 2, size - 1);
	CHECK_RC(ram_disk_zero(disk, env.thread, 0, size, 0, &cursor), 0);
	model_extents(model, &env, disk, NULL, NULL, 0, "written");
	CHECK_RC(env_zero(&env, disk, size, 0, 0), 0);
	model_zero(model, size, 0);
	model_verify(model, &env, disk, "zeroed whole");
	env_check(&env);

	/* All of it is a hole again, the last and partial block too. */
	for (uint64_t off = 0; off < size;) {
		struct ram_extent extent;

		CHECK_RC(env_extent(&env, disk, NULL, size - off, off, 0,
				    &extent),
			 0);
		CHECK(extent.kind == RAM_HOLE);
		off += extent.len;
	}
	env_delete(disk);
	env_close(&env);
	model_free(model);
	free(buf);
}

/* Zeroing or trimming what was never written costs nothing. */
static void never_written(unsigned flags)
{
	struct env env;
	struct ram_disk *disk;
	struct ram_usage before, after;
	struct ram_extent extent;
	uint64_t begin, cursor = 0, off = 0;
	unsigned slices = 1, calls = 0;
	uint8_t byte = 1;
	int rc;

	test_part("zeroing 8T never written, flags %u", flags);
	env_open(&env, NULL, 16 * MIB, 0);
	disk = env_create(&env, "wide", 16 * TIB);
	/* At either end something is there, so the tables are deep. */
	CHECK_RC(env_write(&env, disk, &byte, 1, 4 * TIB - 1, NULL), 0);
	CHECK_RC(env_write(&env, disk, &byte, 1, 12 * TIB, NULL), 0);
	before = env_usage(&env);

	begin = test_now();
	while ((rc = ram_disk_zero(disk, env.thread, 8 * TIB, 4 * TIB, flags,
				   &cursor)) == -EAGAIN) {
		CHECK_RC(ram_wait(env.thread, 10000), 0);
		if (++slices > 100)
			FAIL("zeroing nothing takes %u slices", slices);
	}
	CHECK_RC(rc, 0);
	in_no_time(begin, "zeroing nothing");
	after = env_usage(&env);
	CHECK_U64(after.held, before.held);

	begin = test_now();
	while (off < 16 * TIB) {
		CHECK_RC(env_extent(&env, disk, NULL, 16 * TIB - off, off, 0,
				    &extent),
			 0);
		off += extent.len;
		calls++;
	}
	in_no_time(begin, "extents of 16T");
	CHECK(calls < 100000);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
}

/* What becomes visible by growing is zero, whatever was done at the old end. */
static void grow(uint64_t from, uint64_t to)
{
	struct env env;
	struct ram_disk *disk;
	struct model *model;
	struct ram_view view;
	uint8_t buf[3 * BLOCK_SIZE];
	uint64_t tail = min_u64(from, sizeof(buf));

	test_part("growing from %llu to %llu", (unsigned long long)from,
		  (unsigned long long)to);
	env_open(&env, NULL, 16 * MIB, 0);

	/* Dirty memory for the taking. */
	disk = env_create(&env, "before", MIB);
	memset(buf, 0xdd, sizeof(buf));
	for (uint64_t off = 0; off + sizeof(buf) <= MIB; off += sizeof(buf))
		CHECK_RC(env_write(&env, disk, buf, sizeof(buf), off, NULL), 0);
	env_delete(disk);
	ram_pool_tidy(env.pool);

	for (unsigned way = 0; way < 3; way++) {
		disk = env_create(&env, "grows", from);
		model = model_new(from);
		model_window(model, 0, round_up(to, BLOCK_SIZE));
		memset(buf, 0xee, sizeof(buf));
		if (way == 0) {
			CHECK_RC(env_write(&env, disk, buf, tail, from - tail,
					   NULL),
				 0);
			model_write(model, buf, tail, from - tail);
		} else if (way == 1) {
			CHECK_RC(
				env_stage(&env, disk, tail, from - tail, &view),
				0);
			view_fill(&view, buf);
			CHECK_RC(env_publish(&env, &view), 0);
			model_write(model, buf, view.len, from - tail);
			ram_view_release(&view, env.thread);
		} else {
			CHECK_RC(env_write(&env, disk, buf, 1, from - 1, NULL),
				 0);
			CHECK_RC(env_zero(&env, disk, from, 0, RAM_KEEP), 0);
		}
		CHECK_RC(ram_disk_resize(disk, to), 0);
		model_resize(model, to);
		model_verify(model, &env, disk, "grown");
		/* And when the last block is written in part afterwards */
		CHECK_RC(env_write(&env, disk, buf, 1, to - 1, NULL), 0);
		model_write(model, buf, 1, to - 1);
		model_verify(model, &env, disk, "grown and written");
		env_check(&env);
		env_delete(disk);
		model_free(model);
		ram_pool_tidy(env.pool);
	}
	env_close(&env);
}

static void shrink(void)
{
	struct env env;
	struct ram_disk *disk;
	uint8_t buf[BLOCK_SIZE];

	test_part("shrinking");
	env_open(&env, NULL, 16 * MIB, 0);
	disk = env_create(&env, "shrinks", 3 * BLOCK_SIZE);
	CHECK_RC(ram_disk_resize(disk, 0), -EINVAL);
	CHECK_RC(ram_disk_resize(disk, (uint64_t)INT64_MAX + 1), -EINVAL);
	CHECK_RC(ram_disk_resize(disk, UINT64_MAX), -EINVAL);
	CHECK_U64(ram_disk_size(disk), 3 * BLOCK_SIZE);

	/* A single byte in what would be cut off is enough. */
	memset(buf, 0, sizeof(buf));
	buf[10] = 1;
	CHECK_RC(env_write(&env, disk, buf, sizeof(buf), BLOCK_SIZE, NULL), 0);
	CHECK_RC(ram_disk_resize(disk, BLOCK_SIZE), -EBUSY);
	CHECK_RC(ram_disk_resize(disk, BLOCK_SIZE + 10), -EBUSY);
	CHECK_U64(ram_disk_size(disk), 3 * BLOCK_SIZE);
	CHECK_RC(ram_disk_resize(disk, BLOCK_SIZE + 11), 0);
	CHECK_U64(ram_disk_size(disk), BLOCK_SIZE + 11);
	CHECK_RC(env_write(&env, disk, buf, 1, BLOCK_SIZE + 11, NULL), -EINVAL);
	CHECK_RC(ram_disk_resize(disk, 2 * GIB), 0);
	CHECK_RC(env_zero(&env, disk, 2 * GIB, 0, 0), 0);
	CHECK_RC(ram_disk_resize(disk, 1), 0);
	CHECK_U64(ram_disk_size(disk), 1);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
}

/* What a far write leaves behind (tables of all levels) does not stay behind
 * the end when all is trimmed and cut off; a pool that is kept opens again. */
static void shrink_far(uint64_t from, uint64_t at, uint64_t to)
{
	char *folder = test_folder();
	struct ram_usage before;
	struct ram_disk *disk;
	struct env env;
	uint8_t buf[3 * BLOCK_SIZE];

	test_part("shrinking from %llu to %llu after a write at %llu",
		  (unsigned long long)from, (unsigned long long)to,
		  (unsigned long long)at);
	env_open(&env, folder, 16 * MIB, 0);
	disk = env_create(&env, "shrinks", from);
	before = env_usage(&env);
	memset(buf, 9, sizeof(buf));
	CHECK_RC(env_write(&env, disk, buf, sizeof(buf), at, NULL), 0);
	CHECK_RC(ram_disk_resize(disk, to), -EBUSY);
	CHECK_RC(env_zero(&env, disk, from - to, to, 0), 0);
	CHECK_RC(ram_disk_resize(disk, to), 0);
	CHECK_U64(ram_disk_size(disk), to);
	env_check(&env);
	ram_pool_tidy(env.pool);
	/* At most the tables above the leaves are left, on either side. */
	CHECK(env_usage(&env).held - before.held <=
	      2 * (LEVEL_MAX - 1) * BLOCK_SIZE);
	ram_disk_put(disk);
	env_close(&env);

	env_open(&env, folder, 16 * MIB, 0);
	env_check(&env);
	disk = env_disk(&env, "shrinks");
	CHECK_U64(ram_disk_size(disk), to);
	CHECK_RC(ram_disk_resize(disk, from), 0);
	CHECK_RC(env_read(&env, disk, buf, sizeof(buf), at), 0);
	for (unsigned i = 0; i < sizeof(buf); i++)
		CHECK_U64(buf[i], 0);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
	free(folder);
}

static int try_create(struct env *env, const char *name, uint64_t size,
		      enum ram_state state)
{
	struct ram_disk_spec spec = {
		.name = name,
		.size = size,
		.state = state,
	};
	struct ram_disk *disk = NULL;
	int rc = ram_disk_create(env->pool, &spec, &disk);

	ram_disk_put(disk);
	return rc;
}

static void rules(void)
{
	struct env env;
	struct ram_disk *disk, *other;
	struct ram_disk_spec spec = {.state = RAM_WHOLE};
	char name[RAM_NAME_MAX + 2];
	uint64_t held;

	test_part("names and sizes that are refused");
	env_open(&env, NULL, 16 * MIB, 0);
	env_delete(env_create(&env, "first", 1));
	ram_pool_tidy(env.pool);
	held = env_usage(&env).held;

	memset(name, 'n', sizeof(name));
	name[RAM_NAME_MAX + 1] = '\0';
	CHECK_RC(try_create(&env, name, 4096, RAM_WHOLE), -EINVAL);
	CHECK_RC(try_create(&env, "", 4096, RAM_WHOLE), -EINVAL);
	CHECK_RC(try_create(&env, "d", 0, RAM_WHOLE), -EINVAL);
	CHECK_RC(try_create(&env, "d", (uint64_t)INT64_MAX + 1, RAM_WHOLE),
		 -EINVAL);
	CHECK_RC(try_create(&env, "d", UINT64_MAX, RAM_WHOLE), -EINVAL);
	CHECK_RC(try_create(&env, "d", 4096, RAM_DELETING), -EINVAL);
	CHECK_RC(try_create(&env, "d", 4096, (enum ram_state)0), -EINVAL);
	CHECK_RC(try_create(&env, "d", 4096, (enum ram_state)5), -EINVAL);
	ram_pool_tidy(env.pool);
	CHECK_U64(env_usage(&env).held, held);

	name[RAM_NAME_MAX] = '\0';
	disk = env_create(&env, name, 4096);
	CHECK_RC(try_create(&env, name, 4096, RAM_WHOLE), -EEXIST);
	CHECK_RC(try_create(&env, name, 4096, RAM_MAKING), -EEXIST);
	spec.name = name;
	CHECK_RC(ram_disk_clone(disk, &spec, 0, &other), -EEXIST);
	spec.name = "";
	CHECK_RC(ram_disk_clone(disk, &spec, 0, &other), -EINVAL);
	/* One byte less is another name. */
	name[RAM_NAME_MAX - 1] = '\0';
	CHECK_RC(ram_disk_open(env.pool, name, &other), -ENOENT);
	other = env_create(&env, name, 4096);
	env_delete(other);
	env_delete(disk);
	CHECK_RC(try_create(&env, "n", 4096, RAM_WHOLE), 0);
	disk = env_disk(&env, "n");
	env_delete(disk);

	/* Not shown before it is whole, yet its name is taken. */
	spec.name = "hidden";
	spec.size = 1;
	spec.state = RAM_MAKING;
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk), 0);
	CHECK_RC(ram_disk_open(env.pool, "hidden", &other), -ENOENT);
	CHECK_RC(try_create(&env, "hidden", 4096, RAM_WHOLE), -EEXIST);
	CHECK_RC(ram_disk_state(disk, RAM_MAKING), -EINVAL);
	CHECK_RC(ram_disk_state(disk, RAM_DELETING), -EINVAL);
	CHECK_RC(ram_disk_state(disk, RAM_WHOLE), 0);
	other = env_disk(&env, "hidden");
	ram_disk_put(other);
	env_delete(disk);
	ram_pool_tidy(env.pool);
	CHECK_U64(env_usage(&env).held, held);
	env_check(&env);
	env_close(&env);
}

int main(void)
{
	test_begin("test-store-sizes");
	huge(INT64_MAX, "2^63-1 bytes");
	huge(16 * TIB, "16T");
	huge(16 * TIB + 1, "16T and a byte");
	odd(1);
	odd(511);
	odd(4096);
	odd(4097);
	odd(1000003);
	odd(2 * MIB + 1);
	never_written(0);
	grow(1, 2);
	grow(1, 4096);
	grow(511, 5000);
	grow(4097, 8192);
	grow(8191, 3 * MIB);
	grow(2 * MIB - 1, 2 * MIB + 1);
	shrink();
	shrink_far(INT64_MAX, 256 * TIB - 5, 1000003);
	shrink_far(512 * GIB + 1, 512 * GIB - 3 * BLOCK_SIZE, 1);
	shrink_far(2 * GIB, GIB + 7, GIB);
	shrink_far(4 * MIB, 3 * MIB, 2 * MIB);
	rules();
	return test_end();
}
