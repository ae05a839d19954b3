/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of exports: publishing, replacing, withdrawing; what holds an old one
 * goes on with it, and is counted for its disk whatever exports that has; many
 * threads at once. */
#include "unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "exports.h"
#include "note.h"

static struct ram_pool *pool;
static struct exports exports;

static int begin(void **state)
{
	const struct ram_pool_config config = {.size = UINT64_C(64) << 20,
					       .warm = 0};
	struct ram_why why;

	(void)state;
	exports_init(&exports);
	return ram_pool_open(&config, &pool, &why);
}

static int end(void **state)
{
	(void)state;
	exports_destroy(&exports);
	ram_pool_close(pool);
	return 0;
}

static struct ram_disk *disk(const char *name, enum ram_state state)
{
	const struct ram_disk_spec spec = {
		.name = name, .size = 1 << 20, .state = state};
	struct ram_disk *made;

	assert_int_equal(ram_disk_create(pool, &spec, &made), 0);
	return made;
}

static void publish(const char *name, const struct config_export *settings,
		    bool by_command)
{
	struct ram_disk *d;
	struct ram_why why;

	if (ram_disk_open(pool, name, &d))
		d = disk(name, RAM_WHOLE);
	assert_int_equal(
		exports_publish(&exports, d, settings, by_command, &why), 0);
}

static void expect_list(const char *const *names, unsigned n)
{
	unsigned i, count;
	struct export **all = exports_all(&exports, &count);

	assert_int_equal(count, n);
	for (i = 0; i < n; i++)
		assert_string_equal(all[i]->name, names[i]);
	exports_free(&exports, all, count);
}

static void names(void **state)
{
	static const char *const both[] = {"a", "b"}, *const one[] = {"b"};
	const struct config_export by_default = {.is_default = true};
	struct ram_disk *d = disk("c", RAM_WHOLE);
	struct export *e, *old;
	struct ram_why why;

	(void)state;
	expect_list(NULL, 0);
	assert_null(exports_get(&exports, ""));
	publish("a", NULL, false);
	publish("b", &by_default, false);
	expect_list(both, 2);
	assert_null(exports_get(&exports, "c"));
	assert_int_equal(exports_publish(&exports, d, &by_default, false, &why),
			 -EEXIST);
	assert_non_null(strstr(why.text, "c: another"));
	ram_disk_put(d); /* it stayed ours */
	old = exports_get(&exports, "");
	assert_string_equal(old->name, "b");

	/* Replaced: who holds the old one does not notice. */
	publish("b", NULL, false);
	expect_list(both, 2);
	assert_true(old->is_default);
	e = exports_get(&exports, "b");
	assert_false(e->is_default);
	assert_ptr_equal(e->use, old->use);
	export_put(&exports, old);
	export_put(&exports, e);

	assert_int_equal(exports_withdraw(&exports, "a"), 0);
	assert_int_equal(exports_withdraw(&exports, "a"), -ENOENT);
	assert_int_equal(exports_withdraw(&exports, ""), -ENOENT);
	expect_list(one, 1);
}

/* Each is found by its name, and none that is not there; the others keep their order
 * when some go, and when a reload brings another list. */
static void many(void **state)
{
	const struct config_export by_default = {.is_default = true};
	const unsigned all = 3000;
	struct export *e, *fresh[1], **list;
	unsigned i, count, at = 0;
	char name[20];

	(void)state;
	for (i = 0; i < all; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		publish(name, i == 1500 ? &by_default : NULL, true);
	}
	for (i = 0; i < all; i += 3) {
		snprintf(name, sizeof(name), "n%u", i);
		if (i != 1500)
			assert_int_equal(exports_withdraw(&exports, name), 0);
	}
	publish("configured", NULL, false);
	fresh[0] = export_new(&exports, disk("other", RAM_WHOLE), NULL, false);
	assert_non_null(fresh[0]);
	e = exports_get(&exports, "configured");
	assert_int_equal(exports_replace(&exports, fresh, 1), 0);
	export_put(&exports, fresh[0]);
	assert_null(exports_get(&exports, "configured"));
	export_put(&exports, e);

	list = exports_all(&exports, &count);
	assert_int_equal(count, all - all / 3 + 1 + 1);
	assert_string_equal(list[0]->name, "other");
	for (i = 0; i < all; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		e = exports_get(&exports, name);
		if (i % 3 == 0 && i != 1500) {
			assert_null(e);
			continue;
		}
		assert_ptr_equal(list[++at], e);
		assert_int_equal(exports_clients(&exports, e->disk, false), 0);
		export_put(&exports, e);
	}
	e = exports_get(&exports, "");
	assert_string_equal(e->name, "n1500");
	export_put(&exports, e);
	exports_free(&exports, list, count);
}

static const struct guest guest; /* one of ours */

static void places(void **state)
{
	const struct config_export two = {.max_connections = 2},
				   readonly = {.readonly = true};
	struct export *a, *b, *c, *held;
	bool writes;

	(void)state;
	publish("a", &two, false);
	assert_int_equal(exports_enter(&exports, "a", &guest, &a, &writes), 0);
	assert_int_equal(exports_enter(&exports, "a", &guest, &b, &writes), 0);
	assert_int_equal(exports_enter(&exports, "a", &guest, &c, &writes),
			 -EBUSY);
	assert_string_equal(c->name, "a");
	export_put(&exports, c);
	assert_int_equal(exports_enter(&exports, "z", &guest, &c, &writes),
			 -ENOENT);
	assert_null(c);
	assert_int_equal(export_connections(a), 2);
	assert_int_equal(export_writers(a), 2);

	/* Counting goes on when it is replaced, or gone for a while. */
	publish("a", &readonly, false);
	assert_int_equal(exports_enter(&exports, "a", &guest, &c, &writes), 0);
	assert_int_equal(export_connections(c), 3);
	assert_int_equal(export_writers(c), 2);
	assert_int_equal(exports_withdraw_unused(&exports, "a", true), -EBUSY);
	export_leave(&exports, a, true);
	export_leave(&exports, b, true);
	held = exports_get(&exports, "a");
	assert_int_equal(exports_withdraw_unused(&exports, "a", false), -EBUSY);
	assert_int_equal(exports_withdraw_unused(&exports, "a", true), 0);
	assert_int_equal(exports_enter(&exports, "a", &guest, &a, &writes),
			 -ENOENT);
	publish("a", &two, false);
	assert_int_equal(exports_restore(&exports, held), -EEXIST);
	assert_int_equal(exports_withdraw(&exports, "a"), 0);
	assert_int_equal(exports_restore(&exports, held), 0);
	export_leave(&exports, c, false);
	assert_int_equal(export_connections(held), 0);
	assert_int_equal(exports_withdraw_unused(&exports, "a", false), 0);
	expect_list(NULL, 0);
}

/* What was made by command is noted, becomes whole, and survives the change of
 * all others. */
static void by_command(void **state)
{
	static const char *const after[] = {"b", "c"};
	const struct config_export settings = {.readonly = true,
					       .max_connections = 3};
	const struct config_export by_default = {.is_default = true};
	struct ram_disk *d = disk("c", RAM_MAKING), *other;
	struct export *fresh[2];
	struct ram_why why;
	struct note note;

	(void)state;
	assert_int_equal(ram_disk_open(pool, "c", &other), -ENOENT);
	assert_int_equal(exports_publish(&exports, d, &settings, true, &why),
			 0);
	assert_int_equal(ram_disk_open(pool, "c", &other), 0);
	note_load(other, &note);
	assert_true(note.by_command && note.readonly);
	assert_int_equal(note.max_connections, 3);
	ram_disk_put(other);
	publish("a", NULL, false);

	fresh[0] =
		export_new(&exports, disk("b", RAM_WHOLE), &by_default, false);
	assert_int_equal(exports_replace(&exports, fresh, 1), 0);
	export_put(&exports, fresh[0]);
	expect_list(after, 2);

	/* A second default: nothing has changed. */
	assert_int_equal(ram_disk_open(pool, "a", &d), 0);
	fresh[0] = export_new(&exports, d, &by_default, false);
	assert_int_equal(ram_disk_open(pool, "b", &d), 0);
	fresh[1] = export_new(&exports, d, &by_default, false);
	assert_int_equal(exports_replace(&exports, fresh, 2), -EEXIST);
	expect_list(after, 2);
	export_put(&exports, fresh[0]);
	export_put(&exports, fresh[1]);

	/* A section of the same name takes it over. */
	assert_int_equal(ram_disk_open(pool, "c", &d), 0);
	fresh[0] = export_new(&exports, d, NULL, false);
	assert_int_equal(exports_replace(&exports, fresh, 1), 0);
	export_put(&exports, fresh[0]);
	expect_list(after + 1, 1);
	assert_int_equal(exports_replace(&exports, NULL, 0), 0);
	expect_list(NULL, 0);
}

/* The rest of a walk, from e on, must be these. */
static void expect_rest(struct export *e, unsigned at, const char *const *names,
			unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		assert_non_null(e);
		assert_string_equal(e->name, names[i]);
		e = exports_next(&exports, e, &at);
	}
	assert_null(e);
}

/* Three steps of a walk; what comes fourth is the result. */
static struct export *three_steps(unsigned *at)
{
	struct export *e = NULL;
	unsigned i;

	for (i = 0; i < 4; i++)
		e = exports_next(&exports, e, at);
	return e;
}

static void walks(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
	struct export *e;
	unsigned i, at;

	(void)state;
	assert_null(exports_next(&exports, NULL, &at));
	for (i = 0; i < 6; i++)
		publish(names[i], NULL, false);
	expect_rest(exports_next(&exports, NULL, &at), at, names, 6);
	/* Withdrawn: those before, those behind, itself. */
	e = three_steps(&at);
	exports_withdraw(&exports, "b");
	expect_rest(e, at, names + 3, 3);
	publish("b", NULL, false);
	exports_withdraw(&exports, "b");
	e = three_steps(&at); /* a, c, d, and now e */
	exports_withdraw(&exports, "f");
	expect_rest(e, at, names + 4, 1);
	publish("f", NULL, false);
	e = three_steps(&at);
	exports_withdraw(&exports, "e");
	expect_rest(e, at, names + 4, 2);
	/* Replaced, and one more. */
	e = three_steps(&at); /* a, c, d, and now f */
	publish("f", NULL, false);
	publish("g", NULL, false);
	expect_rest(e, at, names + 5, 2);
	/* Nothing is left. */
	e = three_steps(&at);
	for (i = 0; i < 7; i++)
		exports_withdraw(&exports, names[i]);
	expect_rest(e, at, names + 5, 1);
}

static void *visit(void *arg)
{
	struct export *e, **all;
	unsigned count;
	bool writes;

	(void)arg;
	for (int i = 0; i < 2000; i++) {
		if (exports_enter(&exports, "a", &guest, &e, &writes) == 0)
			export_leave(&exports, e, writes);
		else
			export_put(&exports, e);
		all = exports_all(&exports, &count);
		exports_free(&exports, all, count);
		export_put(&exports, exports_get(&exports, ""));
	}
	return NULL;
}

static void *change(void *arg)
{
	const struct config_export some = {.max_connections = 1};
	struct export *fresh;
	struct ram_disk *d;
	struct ram_why why;

	for (int i = 0; i < 2000; i++) {
		if (ram_disk_open(pool, "a", &d))
			return arg;
		switch (i % 3) {
		case 0:
			if (exports_publish(&exports, d, &some, false, &why))
				return arg;
			break;
		case 1:
			exports_withdraw_unused(&exports, "a", i % 2);
			ram_disk_put(d);
			break;
		case 2:
			fresh = export_new(&exports, d, NULL, false);
			if (!fresh || exports_replace(&exports, &fresh, 1))
				return arg;
			export_put(&exports, fresh);
			break;
		}
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t thread[6];
	struct export *e;
	void *wrong;

	(void)state;
	publish("a", NULL, false);
	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&thread[i], NULL,
						i < 2 ? change : visit, pool),
				 0);
	for (int i = 0; i < 6; i++) {
		pthread_join(thread[i], &wrong);
		assert_null(wrong);
	}
	publish("a", NULL, false);
	e = exports_get(&exports, "a");
	assert_int_equal(export_connections(e), 0);
	assert_int_equal(export_writers(e), 0);
	export_put(&exports, e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, begin, end),
		cmocka_unit_test_setup_teardown(many, begin, end),
		cmocka_unit_test_setup_teardown(places, begin, end),
		cmocka_unit_test_setup_teardown(walks, begin, end),
		cmocka_unit_test_setup_teardown(by_command, begin, end),
		cmocka_unit_test_setup_teardown(threads, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
