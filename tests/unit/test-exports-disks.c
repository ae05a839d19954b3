/* SPDX-License-Identifier: BSD-3-Clause */
/* What a configuration asks of the pool, made ready and taken back; and what a
 * new start finds in a pool that has survived. */
#include "unit/unit.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "disks.h"
#include "note.h"

#define MIB (UINT64_C(1) << 20)

static char folder[64];
static struct ram_pool *pool;
static struct exports exports;

static void open_pool(void)
{
	struct ram_pool_config config = {.size = 64 * MIB, .warm = 0};
	char path[80];
	struct ram_why why;

	snprintf(path, sizeof(path), "%s/pool", folder);
	config.path = path;
	exports_init(&exports);
	if (ram_pool_open(&config, &pool, &why))
		fail_msg("%s", why.text);
}

static void close_pool(void)
{
	exports_destroy(&exports);
	ram_pool_close(pool);
}

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/nbdram-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	open_pool();
	return 0;
}

static int drop(const char *path, const struct stat *st, int type,
		struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int end(void **state)
{
	(void)state;
	close_pool();
	return nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void expect_size(const char *name, uint64_t size)
{
	struct ram_disk *disk;

	if (size == 0) {
		assert_int_equal(ram_disk_open(pool, name, &disk), -ENOENT);
		return;
	}
	assert_int_equal(ram_disk_open(pool, name, &disk), 0);
	assert_int_equal(ram_disk_size(disk), size);
	ram_disk_put(disk);
}

/* As a reload does; the number of mistakes. */
static unsigned apply(struct config_export *list, unsigned n)
{
	const struct config config = {.exports = list, .export_count = n};
	struct config_errors errors = {0};
	struct disks_plan plan;
	unsigned mistakes;
	int error;

	error = disks_prepare(&exports, pool, &config, NULL, &plan, &errors);
	if (!error)
		error = exports_replace(&exports, plan.fresh, plan.count);
	if (error)
		disks_undo(&exports, &plan);
	else
		disks_keep(&exports, &plan);
	mistakes = errors.count;
	assert_true(!error == (mistakes == 0));
	config_errors_free(&errors);
	return mistakes;
}

#define NAMED(x)                     \
	.name = x, .where = (char[]) \
	{                            \
		"f:1"                \
	}

static void fill(const char *name, uint64_t off)
{
	struct ram_thread *thread;
	struct ram_disk *disk;

	assert_int_equal(ram_disk_open(pool, name, &disk), 0);
	assert_int_equal(ram_pool_join(pool, NULL, NULL, &thread), 0);
	assert_int_equal(ram_disk_write(disk, thread, "data", 4, off), 4);
	ram_pool_leave(thread);
	ram_disk_put(disk);
}

static void undone(void **state)
{
	struct config_export good[] = {
		{NAMED((char[]){"a"}), .size = 4 * MIB},
		{NAMED((char[]){"b"}), .size = 4 * MIB},
	};
	struct config_export bad[] = {
		{NAMED((char[]){"b"}), .size = 8 * MIB},
		{NAMED((char[]){"new"}), .size = MIB},
		{NAMED((char[]){"a"}), .size = MIB},
		{NAMED((char[]){"c"}), .size = MIB},
		{NAMED((char[]){"fixed"}), .size = 999 * MIB, .fixed = true},
		{NAMED((char[]){"none"})},
	};
	struct ram_usage before, after;

	(void)state;
	assert_int_equal(apply(good, 2), 0);
	fill("a", 3 * MIB);
	ram_pool_tidy(pool);
	ram_pool_usage(pool, &before);

	/* Data would be cut; of the rest only what can be had is asked for. */
	assert_int_equal(apply(bad, 4), 1);
	expect_size("a", 4 * MIB);
	expect_size("b", 4 * MIB);
	expect_size("new", 0);
	expect_size("c", 0);
	/* Both mistakes at once. */
	assert_int_equal(apply(bad, 6), 2);
	expect_size("b", 4 * MIB);
	expect_size("new", 0);
	expect_size("fixed", 0);
	ram_pool_tidy(pool);
	ram_pool_usage(pool, &after);
	assert_int_equal(before.held, after.held);
	assert_int_equal(before.guaranteed, after.guaranteed);

	/* Made smaller where nothing is. */
	bad[2].size = 3 * MIB + 4096;
	assert_int_equal(apply(bad, 4), 0);
	expect_size("a", 3 * MIB + 4096);
	expect_size("b", 8 * MIB);
}

/* Make a disk larger, and take that back; whether a client comes in between. */
static void grow_and_undo(uint64_t size, bool client)
{
	struct config_export one = {NAMED((char[]){"a"}), .size = size};
	const struct config config = {.exports = &one, .export_count = 1};
	const struct guest guest = {0};
	struct config_errors errors = {0};
	struct disks_plan plan;
	struct export *e;
	bool writes;

	assert_int_equal(
		disks_prepare(&exports, pool, &config, NULL, &plan, &errors),
		0);
	expect_size("a", size);
	if (client) {
		assert_int_equal(
			exports_enter(&exports, "a", &guest, &e, &writes), 0);
		export_leave(&exports, e, writes);
	}
	disks_undo(&exports, &plan);
}

/* No client finds its disk smaller than it was told. */
static void grown_under_clients(void **state)
{
	struct config_export one = {NAMED((char[]){"a"}), .size = 4 * MIB};
	const struct guest guest = {0};
	struct ram_usage before, after;
	struct export *e;
	bool writes;

	(void)state;
	one.fixed = one.alloc_asked = true;
	assert_int_equal(apply(&one, 1), 0);
	ram_pool_usage(pool, &before);
	assert_int_equal(exports_enter(&exports, "a", &guest, &e, &writes), 0);
	grow_and_undo(8 * MIB, false);
	expect_size("a", 4 * MIB);
	ram_pool_usage(pool, &after);
	assert_int_equal(before.guaranteed, after.guaranteed);
	grow_and_undo(8 * MIB, true);
	expect_size("a", 8 * MIB);
	grow_and_undo(16 * MIB, false);
	expect_size("a", 8 * MIB);
	export_leave(&exports, e, writes);
	ram_pool_usage(pool, &after);
	assert_true(after.guaranteed >= 8 * MIB && after.guaranteed < 9 * MIB);
}

static void expect_promise(const char *name, bool fixed, uint64_t quota,
			   uint64_t guarantee)
{
	struct ram_disk_info info;
	struct ram_disk *disk;

	assert_int_equal(ram_disk_open(pool, name, &disk), 0);
	ram_disk_info(disk, NULL, 0, &info);
	ram_disk_put(disk);
	assert_int_equal(info.fixed, fixed);
	assert_int_equal(info.quota, quota);
	if (!fixed)
		assert_int_equal(info.guarantee, guarantee);
}

/* What keys say of a disk that is there is given to it, or an error; they must
 * go together with what it has. */
static void promises(void **state)
{
	struct config_export one = {NAMED((char[]){"a"}), .size = 8 * MIB};
	struct config_export two[] = {
		{NAMED((char[]){"a"})},
		{NAMED((char[]){"b"}), .size = 999 * MIB, .fixed = true},
	};
	const struct ram_disk_spec spec = {.name = "s", .state = RAM_WHOLE};
	struct ram_disk *disk, *snapshot;
	struct ram_usage before, after;

	(void)state;
	assert_int_equal(apply(&one, 1), 0);
	one.size = 0;
	one.fixed = one.alloc_asked = true;
	one.quota = 4 * MIB;
	assert_int_equal(apply(&one, 1), 1);
	expect_promise("a", false, 0, 0);
	one.quota = 16 * MIB;
	assert_int_equal(apply(&one, 1), 0);
	expect_promise("a", true, 16 * MIB, 0);

	/* It stays fixed: of more than the quota, or than there is. */
	one.fixed = one.alloc_asked = false;
	one.quota = 0;
	one.size = 24 * MIB;
	assert_int_equal(apply(&one, 1), 1);
	one.quota = 999 * MIB;
	one.size = 500 * MIB;
	assert_int_equal(apply(&one, 1), 1);
	expect_promise("a", true, 16 * MIB, 0);
	expect_size("a", 8 * MIB);

	/* Not taken back by a change that fails; nor without a word. */
	ram_pool_usage(pool, &before);
	two[0].alloc_asked = true;
	two[0].guarantee = MIB;
	assert_int_equal(apply(two, 2), 1);
	expect_promise("a", true, 16 * MIB, 0);
	ram_pool_usage(pool, &after);
	assert_int_equal(before.guaranteed, after.guaranteed);
	assert_int_equal(apply(two, 1), 0);
	expect_promise("a", false, 16 * MIB, MIB);

	/* What it has counts, whichever of them is said. */
	two[0].guarantee = 0;
	two[0].quota = MIB / 2;
	assert_int_equal(apply(two, 1), 1);
	two[0].quota = 0;
	two[0].guarantee = 17 * MIB;
	assert_int_equal(apply(two, 1), 1);
	expect_promise("a", false, 16 * MIB, MIB);
	two[0].guarantee = MIB / 2;
	two[0].quota = MIB / 2;
	assert_int_equal(apply(two, 1), 0);
	expect_promise("a", false, MIB / 2, MIB / 2);

	/* A snapshot is as it is. */
	assert_int_equal(ram_disk_open(pool, "a", &disk), 0);
	assert_int_equal(ram_disk_clone(disk, &spec, RAM_SNAPSHOT, &snapshot),
			 0);
	ram_disk_put(disk);
	ram_disk_put(snapshot);
	one = (struct config_export){NAMED((char[]){"s"})};
	assert_int_equal(apply(&one, 1), 0);
	one.quota = 4 * MIB;
	assert_int_equal(apply(&one, 1), 1);
}

static void expect_exports(const char *const *names, unsigned n)
{
	unsigned i, count;
	struct export **all = exports_all(&exports, &count);

	assert_int_equal(count, n);
	for (i = 0; i < n; i++)
		assert_string_equal(all[i]->name, names[i]);
	exports_free(&exports, all, count);
}

/* Made by command: name, a default or not. */
static void command(const char *name, bool is_default)
{
	const struct ram_disk_spec spec = {
		.name = name, .size = MIB, .state = RAM_MAKING};
	const struct config_export settings = {.is_default = is_default,
					       .readonly = true};
	struct ram_disk *disk;
	struct ram_why why;

	assert_int_equal(ram_disk_create(pool, &spec, &disk), 0);
	assert_int_equal(exports_publish(&exports, disk, &settings, true, &why),
			 0);
}

static void restart(struct config_export *list, unsigned n)
{
	close_pool();
	open_pool();
	assert_int_equal(apply(list, n), 0);
	disks_restore(&exports, pool);
}

static void restarts(void **state)
{
	static const char *const all[] = {"a", "made", "second"},
				 *const taken[] = {"made", "second"},
				 *const last[] = {"a", "second"};
	struct config_export list[] = {
		{NAMED((char[]){"a"}), .size = MIB},
		{NAMED((char[]){"made"})},
	};
	struct export *e;

	(void)state;
	assert_int_equal(apply(list, 1), 0);
	command("made", true);
	command("second", false);
	restart(list, 1);
	expect_exports(all, 3);
	e = exports_get(&exports, "");
	assert_string_equal(e->name, "made");
	assert_true(e->by_command && e->readonly);
	export_put(&exports, e);

	/* Another default comes first: it answers to its name only. */
	list[0].is_default = true;
	restart(list, 1);
	expect_exports(all, 3);
	e = exports_get(&exports, "made");
	assert_false(e->is_default);
	export_put(&exports, e);

	/* A section takes it over; without the section it is not exported. */
	restart(list + 1, 1);
	expect_exports(taken, 2);
	e = exports_get(&exports, "made");
	assert_false(e->by_command || e->readonly);
	export_put(&exports, e);
	expect_size("a", MIB);
	restart(list, 1);
	expect_exports(last, 2);
	expect_size("made", MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(undone, begin, end),
		cmocka_unit_test_setup_teardown(grown_under_clients, begin,
						end),
		cmocka_unit_test_setup_teardown(promises, begin, end),
		cmocka_unit_test_setup_teardown(restarts, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
