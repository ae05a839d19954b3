/* SPDX-License-Identifier: BSD-3-Clause */
/* ram_disk_promise(), ram_disk_reserve(): what a disk is guaranteed and may have is
 * changed while it has data; what does not fit, or is given up, changes nothing; all
 * of it is there after the pool is opened again. */
#include "store.h"
#include "util.h"

#define SIZE (4 * MIB)

static struct ram_pool *pool;
static struct ram_disk *disk;

static void open_pool(const char *path)
{
	const struct ram_pool_config config = {
		.size = 32 * MIB, .warm = 0, .path = path};
	struct ram_why why;

	CHECK_RC(ram_pool_open(&config, &pool, &why), 0);
}

static int64_t write_block(uint64_t off)
{
	static const char block[RAM_BLOCK] = {1};
	struct ram_thread *t;
	int64_t n;

	CHECK_RC(ram_pool_join(pool, NULL, NULL, &t), 0);
	while ((n = ram_disk_write(disk, t, block, sizeof(block), off)) ==
	       -EAGAIN)
		ram_wait(t, 10000);
	ram_pool_leave(t);
	return n;
}

static void expect(bool fixed, uint64_t quota, uint64_t guarantee)
{
	struct ram_disk_info info;

	CHECK_RC(ram_disk_info(disk, NULL, 0, &info), 0);
	CHECK(info.fixed == fixed);
	CHECK_U64(info.quota, quota);
	if (!fixed)
		CHECK_U64(info.guarantee, guarantee);
	else
		CHECK(info.guarantee >= info.size);
}

static uint64_t promised(void)
{
	struct ram_usage usage;

	ram_pool_usage(pool, &usage);
	return usage.guaranteed;
}

static void changes(void)
{
	struct ram_why why;

	CHECK_RC(write_block(0), RAM_BLOCK);
	CHECK_U64(promised(), 0);

	/* A quota that is below what it has: it keeps that, and gets no more. */
	CHECK_RC(ram_disk_promise(disk, false, RAM_BLOCK, 0, NULL, NULL), 0);
	expect(false, RAM_BLOCK, 0);
	CHECK_RC(write_block(MIB), -ENOSPC);
	CHECK_RC(write_block(0), RAM_BLOCK);
	CHECK_RC(ram_disk_promise(disk, false, 2 * MIB, 0, NULL, NULL), 0);
	CHECK_RC(write_block(MIB), RAM_BLOCK);

	CHECK_RC(ram_disk_promise(disk, false, 2 * MIB, MIB, NULL, NULL), 0);
	expect(false, 2 * MIB, MIB);
	CHECK(promised() > 0 && promised() < MIB);
	CHECK_RC(ram_disk_promise(disk, false, 2 * MIB, 500 * MIB, NULL, NULL),
		 -ENOSPC);
	expect(false, 2 * MIB, MIB);
	CHECK(promised() > 0 && promised() < MIB);

	CHECK_RC(ram_disk_promise(disk, true, 0, 0, NULL, NULL), 0);
	expect(true, 0, 0);
	CHECK(promised() > SIZE - MIB);
	CHECK_RC(ram_disk_resize(disk, 400 * MIB), -ENOSPC);
	CHECK_RC(ram_pool_check(pool, &why), 0);
}

static unsigned asked;

static bool give_up(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	CHECK(done <= all);
	asked++;
	/* The size is not to be seen before all of it is there. */
	CHECK_U64(ram_disk_size(disk), SIZE);
	return true;
}

/* Memory for a size that it does not have yet. */
static void ahead(void)
{
	uint64_t before = promised();
	struct ram_why why;

	CHECK_RC(ram_disk_reserve(disk, 400 * MIB, NULL, NULL), -ENOSPC);
	CHECK_RC(ram_disk_reserve(disk, 0, NULL, NULL), -EINVAL);
	CHECK_U64(promised(), before);
	/* Populating 12 MiB may be over before it is told of. */
	if (ram_disk_reserve(disk, 4 * SIZE, give_up, NULL) == 0) {
		CHECK_U64(asked, 0);
		ram_disk_unreserve(disk);
	}
	CHECK_U64(promised(), before);
	CHECK_RC(ram_disk_reserve(disk, 4 * SIZE, NULL, NULL), 0);
	CHECK_U64(ram_disk_size(disk), SIZE);
	CHECK(promised() >= before + 3 * SIZE);
	CHECK_RC(ram_disk_reserve(disk, SIZE / 2, NULL, NULL), 0);
	CHECK_U64(promised(), before);
	/* What it has is no more than its size needs, whatever was reserved. */
	CHECK_RC(ram_disk_reserve(disk, 4 * SIZE, NULL, NULL), 0);
	CHECK_RC(ram_disk_resize(disk, 2 * SIZE), 0);
	CHECK(promised() >= before + SIZE && promised() < before + 2 * SIZE);
	ram_disk_unreserve(disk);
	CHECK(promised() >= before + SIZE && promised() < before + 2 * SIZE);
	CHECK_RC(ram_disk_resize(disk, SIZE), 0);
	CHECK_U64(promised(), before);
	CHECK_RC(ram_pool_check(pool, &why), 0);
}

int main(void)
{
	const struct ram_disk_spec spec = {
		.name = "disk", .size = SIZE, .state = RAM_WHOLE};
	struct ram_disk *snapshot;
	struct ram_why why;
	char path[256], *folder;

	test_begin("test-store-promise");
	folder = test_folder();
	snprintf(path, sizeof(path), "%s/pool", folder);
	open_pool(path);
	CHECK_RC(ram_disk_create(pool, &spec, &disk), 0);
	changes();
	ram_disk_put(disk);
	ram_pool_close(pool);

	open_pool(path);
	CHECK_RC(ram_disk_open(pool, "disk", &disk), 0);
	expect(true, 0, 0);
	CHECK(promised() > SIZE - MIB);
	ahead();
	CHECK_RC(ram_disk_promise(disk, false, 0, 0, NULL, NULL), 0);
	CHECK_U64(promised(), 0);
	CHECK_RC(ram_disk_clone(disk,
				&(struct ram_disk_spec){.name = "snapshot",
							.state = RAM_WHOLE},
				RAM_SNAPSHOT, &snapshot),
		 0);
	CHECK_RC(ram_disk_promise(snapshot, false, MIB, 0, NULL, NULL), -EROFS);
	ram_disk_put(snapshot);
	CHECK_RC(ram_disk_delete(disk), 0);
	CHECK_RC(ram_disk_promise(disk, false, MIB, 0, NULL, NULL), -ENOENT);
	CHECK_RC(ram_disk_reserve(disk, MIB, NULL, NULL), -ENOENT);
	ram_disk_unreserve(disk);
	ram_disk_put(disk);
	ram_pool_tidy(pool);
	CHECK_RC(ram_pool_check(pool, &why), 0);
	ram_pool_close(pool);
	free(folder);
	return test_end();
}
