/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads for blocks that have no memory yet come to a buffer of the thread first:
 * nothing of one is ever seen in another, what is given up leaves nothing, and a file
 * system that has no memory is told of and may be asked again. */
#include "util.h"

#define POOL (64 * MIB)
#define LEN (1 * MIB)

static bool refuses;

static bool refuse(enum ram_fault kind)
{
	return refuses && kind == RAM_FAULT_BACKING;
}

static void expect(struct env *env, struct ram_disk *disk, uint64_t off,
		   uint64_t len, uint8_t want)
{
	static uint8_t buf[2 * LEN];
	uint64_t i;

	CHECK(len <= sizeof(buf));
	CHECK_RC(env_read(env, disk, buf, len, off), 0);
	for (i = 0; i < len; i++) {
		if (buf[i] != want)
			FAIL("byte %llu is %u, not %u",
			     (unsigned long long)(off + i), buf[i], want);
	}
}

/* Stage some of it, and fill that with one byte. */
static void stage(struct env *env, struct ram_disk *disk, uint64_t len,
		  uint64_t off, uint8_t byte, struct ram_view *view)
{
	static uint8_t data[LEN];

	memset(data, byte, sizeof(data));
	CHECK_RC(ram_disk_stage(disk, env->thread, len, off, 0, view), 0);
	CHECK(view->len > 0 && view->len <= len);
	view_fill(view, data);
}

/* A whole write, as large ones come. */
static void put(struct env *env, struct ram_disk *disk, uint64_t len,
		uint64_t off, uint8_t byte)
{
	struct ram_view view;
	uint64_t done;

	for (done = 0; done < len; done += view.len) {
		stage(env, disk, len - done, off + done, byte, &view);
		CHECK_RC(ram_view_filled(&view), 0);
		CHECK_RC(env_publish(env, &view), 0);
		ram_view_release(&view, env->thread);
	}
}

static void given_up(struct env *env, struct ram_disk *disk)
{
	struct ram_view view;
	struct ram_usage before = env_usage(env);

	test_part("what is given up, and then a part of a block");
	stage(env, disk, LEN, 0, 0xaa, &view);
	ram_view_release(&view, env->thread);
	CHECK_U64(env_usage(env).held, before.held);
	put(env, disk, 5000, 100, 0xbb);
	expect(env, disk, 0, 100, 0);
	expect(env, disk, 100, 5000, 0xbb);
	expect(env, disk, 5100, LEN, 0);
}

static void two_at_once(struct env *env, struct ram_disk *disk)
{
	struct ram_view one, two;

	test_part("two views at once, the later one first");
	stage(env, disk, LEN, 8 * MIB, 1, &one);
	stage(env, disk, LEN, 10 * MIB, 2, &two);
	CHECK_RC(ram_view_filled(&two), 0);
	CHECK_RC(env_publish(env, &two), 0);
	/* Not told that it is full: publishing sees to it. */
	CHECK_RC(env_publish(env, &one), 0);
	ram_view_release(&two, env->thread);
	ram_view_release(&one, env->thread);
	expect(env, disk, 8 * MIB, one.len, 1);
	expect(env, disk, 8 * MIB + one.len, LEN - one.len, 0);
	expect(env, disk, 10 * MIB, two.len, 2);
}

static void refused(struct env *env, struct ram_disk *disk)
{
	struct ram_view view;

	test_part("a file system without memory");
	stage(env, disk, LEN, 20 * MIB, 3, &view);
	refuses = true;
	CHECK_RC(ram_view_filled(&view), -ENOSPC);
	CHECK_RC(ram_view_publish(&view), -ENOSPC);
	refuses = false;
	expect(env, disk, 20 * MIB, LEN, 0);
	/* Others go on meanwhile. */
	put(env, disk, LEN, 22 * MIB, 4);
	CHECK_RC(env_publish(env, &view), 0);
	ram_view_release(&view, env->thread);
	expect(env, disk, 20 * MIB, view.len, 3);
	expect(env, disk, 22 * MIB, LEN, 4);
}

int main(void)
{
	struct ram_disk *disk;
	struct env env;
	uint64_t off;

	test_begin("test-store-bounce");
	ram_fault_hook = refuse;
	/* No housekeeper: nothing is warm. */
	env_open(&env, NULL, POOL, 0);
	disk = env_create(&env, "disk", GIB);
	/* Tables first, so that the file system is asked for data only. */
	for (off = 0; off < 30 * MIB; off += 2 * MIB)
		put(&env, disk, RAM_BLOCK, off, 0);
	given_up(&env, disk);
	two_at_once(&env, disk);
	refused(&env, disk);
	env_check(&env);
	ram_disk_put(disk);
	env_close(&env);
	return test_end();
}
