/* SPDX-License-Identifier: BSD-3-Clause */
/* What a disk is charged for as its own stays what its tree shows: when writes
 * meet trims of whole leaves, and when a snapshot that shared everything is
 * deleted, or its contents come from elsewhere. Seen from outside in a fixed disk, whose guarantee less its own is
 * what the pool still promises. */
#include <pthread.h>
#include <unistd.h>

#include "store.h"
#include "util.h"

#define SIZE (4 * MIB)

static struct ram_pool *pool;
static struct ram_disk *disk;
static _Atomic bool stop;

static void *writer(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg + (unsigned)test_seed();
	static const char block[RAM_BLOCK] = {1};
	struct ram_thread *t;
	int64_t n;

	CHECK_RC(ram_pool_join(pool, NULL, NULL, &t), 0);
	while (!stop) {
		n = ram_disk_write(disk, t, block, sizeof(block),
				   rand_r(&seed) % (SIZE / RAM_BLOCK) *
					   RAM_BLOCK);
		if (n == -EAGAIN)
			ram_wait(t, 10000);
		else
			CHECK_U64(n, sizeof(block));
	}
	ram_pool_leave(t);
	return NULL;
}

static void trim(struct ram_thread *t)
{
	uint64_t cursor = 0;
	int rc;

	while ((rc = ram_disk_zero(disk, t, SIZE, 0, 0, &cursor)) == -EAGAIN)
		CHECK_RC(ram_wait(t, 10000), 0);
	CHECK_RC(rc, 0);
}

static void fill(struct ram_thread *t, struct ram_disk *d)
{
	static char data[SIZE];
	uint64_t done = 0;
	int64_t n;

	memset(data, 3, sizeof(data));
	while (done < SIZE) {
		n = ram_disk_write(d, t, data + done, SIZE - done, done);
		if (n == -EAGAIN) {
			CHECK_RC(ram_wait(t, 10000), 0);
			continue;
		}
		CHECK(n > 0);
		done += n;
	}
}

/* Promised is what is guaranteed less what the tree shows as its own. */
static void check_promise(struct ram_thread *t, const char *when)
{
	struct ram_disk_info info;
	struct ram_usage usage;
	uint64_t want;

	ram_pool_tidy(pool);
	CHECK_RC(ram_disk_info(disk, t, RAM_INFO_USAGE, &info), 0);
	ram_pool_usage(pool, &usage);
	want = info.guarantee > info.own ? info.guarantee - info.own : 0;
	if (usage.guaranteed != want)
		FAIL("%s: own %llu of %llu by its tree, but %llu are promised",
		     when, (unsigned long long)info.own,
		     (unsigned long long)info.guarantee,
		     (unsigned long long)usage.guaranteed);
}

static void writes_and_trims(struct ram_thread *t)
{
	uint64_t until = test_now() + test_count(40, 2) * 500000000;
	pthread_t threads[3];
	uintptr_t i;

	stop = false;
	for (i = 0; i < 3; i++)
		CHECK_RC(pthread_create(&threads[i], NULL, writer, (void *)i),
			 0);
	while (test_now() < until)
		trim(t);
	stop = true;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	trim(t);
	check_promise(t, "writes and trims");
}

static void snapshot_goes(struct ram_thread *t)
{
	struct ram_disk_spec spec = {.name = "snapshot", .state = RAM_WHOLE};
	struct ram_disk *snapshot;

	fill(t, disk);
	check_promise(t, "full");
	CHECK_RC(ram_disk_clone(disk, &spec, RAM_SNAPSHOT, &snapshot), 0);
	check_promise(t, "snapshot");
	CHECK_RC(ram_disk_delete(snapshot), 0);
	ram_disk_put(snapshot);
	check_promise(t, "snapshot deleted");
	fill(t, disk);
	check_promise(t, "overwritten");
}

/* Contents of another lineage, which goes: as loading and formatting does it. */
static void replaced(struct ram_thread *t)
{
	struct ram_disk_spec spec = {
		.name = "model", .size = SIZE, .state = RAM_TEMPORARY};
	struct ram_disk *model, *clone;

	CHECK_RC(ram_disk_create(pool, &spec, &model), 0);
	fill(t, model);
	CHECK_RC(ram_disk_replace(disk, model), 0);
	check_promise(t, "as the model");
	CHECK_RC(ram_disk_delete(model), 0);
	ram_disk_put(model);
	check_promise(t, "the model is gone");

	/* What both had is one's own when the other gets something else. */
	spec.name = "clone";
	spec.state = RAM_WHOLE;
	CHECK_RC(ram_disk_clone(disk, &spec, 0, &clone), 0);
	check_promise(t, "cloned");
	spec.name = "empty";
	spec.state = RAM_TEMPORARY;
	CHECK_RC(ram_disk_create(pool, &spec, &model), 0);
	CHECK_RC(ram_disk_replace(clone, model), 0);
	CHECK_RC(ram_disk_delete(model), 0);
	ram_disk_put(model);
	check_promise(t, "the clone has other contents");
	CHECK_RC(ram_disk_delete(clone), 0);
	ram_disk_put(clone);
}

int main(void)
{
	struct ram_pool_config config = {.size = 64 * MIB, .warm = 0};
	struct ram_disk_spec spec = {.name = "fixed",
				     .size = SIZE,
				     .fixed = true,
				     .state = RAM_WHOLE};
	struct ram_thread *t;
	struct ram_why why;

	test_begin("test-store-own");
	CHECK_RC(ram_pool_open(&config, &pool, &why), 0);
	CHECK_RC(ram_pool_start(pool), 0);
	CHECK_RC(ram_pool_join(pool, NULL, NULL, &t), 0);
	CHECK_RC(ram_disk_create(pool, &spec, &disk), 0);
	test_part("writes and trims of whole leaves at once");
	writes_and_trims(t);
	test_part("a snapshot comes and goes");
	snapshot_goes(t);
	test_part("contents come from a disk that goes");
	replaced(t);
	CHECK_RC(ram_pool_check(pool, &why), 0);
	ram_disk_put(disk);
	ram_pool_leave(t);
	ram_pool_close(pool);
	return test_end();
}
