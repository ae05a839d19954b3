/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads make the first write below one table that is not their disk's
 * to change in place: because a relative shares it, or because the relative that
 * did is gone. One of them copies or moves it while others still look at it;
 * whatever the order, uses are counted right and no block is given away twice.
 *
 * ram_pool_check() is the judge: it walks all tables and compares. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "util.h"

#define THREADS 6
#define WRITES 40
#define SIZE (UINT64_C(2) << 20) /* one leaf */

static struct ram_pool *pool;
static struct ram_disk *disks[2];
static pthread_barrier_t barrier;
static bool stop, both;

static void write_some(struct ram_thread *t, struct ram_disk *disk,
		       unsigned *seed, int fill)
{
	char block[RAM_BLOCK];
	uint64_t off;
	int64_t n;
	int i;

	memset(block, fill, sizeof(block));
	for (i = 0; i < WRITES; i++) {
		off = rand_r(seed) % (SIZE / RAM_BLOCK) * RAM_BLOCK;
		while ((n = ram_disk_write(disk, t, block, sizeof(block),
					   off)) == -EAGAIN)
			CHECK(ram_wait(t, 10000) == 0);
		CHECK(n == (int64_t)sizeof(block));
	}
}

static void *writer(void *arg)
{
	long number = (long)arg;
	unsigned seed = number * 77 + 1;
	struct ram_thread *t;

	CHECK(ram_pool_join(pool, NULL, NULL, &t) == 0);
	for (;;) {
		pthread_barrier_wait(&barrier);
		if (stop)
			break;
		write_some(t, disks[both ? number % 2 : 0], &seed, number);
		pthread_barrier_wait(&barrier);
	}
	ram_pool_leave(t);
	return NULL;
}

static void fill(void)
{
	char *data = malloc(SIZE);
	struct ram_thread *t;
	uint64_t done = 0;
	int64_t n;

	CHECK(data && ram_pool_join(pool, NULL, NULL, &t) == 0);
	memset(data, 7, SIZE);
	while (done < SIZE) {
		n = ram_disk_write(disks[0], t, data + done, SIZE - done, done);
		CHECK(n > 0);
		done += n;
	}
	ram_pool_leave(t);
	free(data);
}

static void drop_clone(void)
{
	CHECK(ram_disk_delete(disks[1]) == 0);
	ram_disk_put(disks[1]);
}

static void rounds(unsigned count)
{
	struct ram_disk_spec spec = {.name = "b", .state = RAM_WHOLE};
	struct ram_why why;
	unsigned i;

	for (i = 0; i < count; i++) {
		CHECK(ram_disk_clone(disks[0], &spec, 0, &disks[1]) == 0);
		if (!both) {
			drop_clone();
			ram_pool_tidy(pool);
		}
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		if (both)
			drop_clone();
		if (ram_pool_check(pool, &why))
			FAIL("round %u: %s", i, why.text);
	}
}

static void run(bool write_both, unsigned count)
{
	struct ram_pool_config config = {.size = 64 << 20, .warm = 8 << 20};
	struct ram_disk_spec spec = {
		.name = "a", .size = SIZE, .state = RAM_WHOLE};
	pthread_t threads[THREADS];
	struct ram_why why;
	long i;

	both = write_both;
	stop = false;
	CHECK(ram_pool_open(&config, &pool, &why) == 0);
	CHECK(ram_pool_start(pool) == 0);
	CHECK(ram_disk_create(pool, &spec, &disks[0]) == 0);
	fill();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, writer, (void *)i) ==
		      0);
	rounds(count);
	stop = true;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	ram_disk_put(disks[0]);
	ram_pool_close(pool);
}

int main(void)
{
	unsigned count;

	test_begin("test-store-same-table");
	count = test_count(10000, 50);
	test_part("the relative is gone");
	run(false, count);
	test_part("the relative is written too");
	run(true, count);
	return test_end();
}
