/* SPDX-License-Identifier: BSD-3-Clause */
/* What is written out and read again is the same; single exports as commands
 * make them. */
#include "unit/conf.h"

#include "config-keys.h"

static void expect_export(const char *name, const char *text)
{
	struct config_errors errors = {0};
	struct config_export e;
	struct config c;
	char *written;

	assert_int_equal(config_export_init(&e, name, "here", &errors), 0);
	assert_int_equal(config_export_set(&e, "size", "3M", &errors), 0);
	assert_int_equal(config_export_set(&e, "alloc", "fixed", &errors), 0);
	assert_int_equal(config_export_set(&e, "readonly", "yes", &errors), 0);
	written = config_write_export(&e);
	assert_non_null(written);
	assert_string_equal(written, text);
	assert_int_equal(conf_load(written, &c, &errors), 0);
	assert_int_equal(c.export_count, 1);
	assert_string_equal(c.exports[0].name, name);
	assert_true(c.exports[0].size == 3 << 20 && c.exports[0].fixed &&
		    c.exports[0].readonly && !c.exports[0].is_default);
	config_free(&c);
	free(written);
	config_export_free(&e);
}

/* It is no default if it was said: it takes back what a disk has. */
static void alloc_thin(void **state)
{
	struct config_errors errors = {0};
	struct config c;
	char *written;

	(void)state;
	assert_int_equal(conf_load("[export a]\nalloc = thin\n[export b]\n", &c,
				   &errors),
			 0);
	assert_true(c.exports[0].alloc_asked && !c.exports[0].fixed);
	assert_false(c.exports[1].alloc_asked);
	written = config_write(&c);
	assert_non_null(strstr(written, "[export a]\nalloc = thin\n"));
	assert_non_null(strstr(written, "[export b]\n"));
	assert_null(strstr(strstr(written, "[export b]"), "alloc"));
	free(written);
	config_free(&c);
}

#define KEYS "\nsize = 3M\nalloc = fixed\nreadonly = yes\n"

static void names(void **state)
{
	(void)state;
	expect_export("a", "[export a]" KEYS);
	expect_export("a b", "[export a b]" KEYS);
	expect_export(" ", "[export \" \"]" KEYS);
	expect_export(" a", "[export \" a\"]" KEYS);
	expect_export("a ", "[export \"a \"]" KEYS);
	expect_export("\"", "[export \"\"\"]" KEYS);
	expect_export("\"a\"", "[export \"\"a\"\"]" KEYS);
	expect_export("a\"", "[export a\"]" KEYS);
	expect_export("]", "[export ]]" KEYS);
	expect_export("a]", "[export a]]" KEYS);
	expect_export("[", "[export []" KEYS);
	expect_export("#", "[export #]" KEYS);
	expect_export("a,b=c", "[export a,b=c]" KEYS);
	expect_export("gr\xc3\xb6\xc3\x9f\x65", "[export gr\xc3\xb6\xc3\x9f"
						"e]" KEYS);
	expect_export("\xff", "[export \xff]" KEYS);
}

static void name_of(size_t len, int result)
{
	struct config_errors errors = {0};
	struct config_export e;
	char name[300];

	memset(name, 'x', len);
	name[len] = 0;
	assert_int_equal(config_export_init(&e, name, "here", &errors), result);
	if (result) {
		assert_int_equal(errors.count, 1);
		assert_non_null(strstr(errors.lines[0], "here: export \""));
		config_errors_free(&errors);
	} else {
		config_export_free(&e);
	}
}

static void lengths(void **state)
{
	(void)state;
	name_of(0, -EINVAL);
	name_of(1, 0);
	name_of(255, 0);
	name_of(256, -EINVAL);
	name_of(299, -EINVAL);
}

static void wrong(void **state)
{
	struct config_errors errors = {0};
	struct config_export e;

	(void)state;
	assert_int_equal(config_export_init(&e, "a\nb", "here", &errors),
			 -EINVAL);
	assert_int_equal(config_export_init(&e, "a;b", "here", &errors),
			 -EINVAL);
	assert_int_equal(config_export_init(&e, "a", "here", &errors), 0);
	assert_int_equal(config_export_set(&e, "size", "x", &errors), -EINVAL);
	assert_int_equal(config_export_set(&e, "siez", "1", &errors), -EINVAL);
	assert_int_equal(config_export_check(&e, &errors), 0);
	assert_int_equal(config_export_set(&e, "quota", "1M", &errors), 0);
	assert_int_equal(config_export_set(&e, "guarantee", "2M", &errors), 0);
	assert_int_equal(config_export_check(&e, &errors), -EINVAL);
	assert_int_equal(errors.count, 5);
	for (unsigned i = 0; i < errors.count; i++)
		assert_non_null(strstr(errors.lines[i], "here: "));
	config_export_free(&e);
	config_errors_free(&errors);
}

static void copies(void **state)
{
	struct config_errors errors = {0};
	struct config_export copy;
	struct config c;
	char *written, *again;

	(void)state;
	assert_int_equal(conf_load("[export a]\nsize = 1M\nquota = 1M\n"
				   "[template b*]\nclone = a\nexpire = 5s\n",
				   &c, &errors),
			 0);
	assert_int_equal(config_export_copy(&copy, &c.exports[0]), 0);
	written = config_write_export(&c.exports[0]);
	again = config_write_export(&copy);
	assert_string_equal(written, again);
	free(written);
	free(again);
	config_export_free(&copy);
	assert_int_equal(config_export_copy(&copy, &c.templates[0]), 0);
	assert_int_equal(copy.text_count, 2);
	config_free(&c);
	assert_string_equal(copy.texts[1].value, "5s");
	config_export_free(&copy);
}

/* All of it: what is not default, and no more. */
static void whole(void **state)
{
	static const char text[] = "[server]\n"
				   "listen = localhost:10809, unix:/a b\n"
				   "workers = 3\n"
				   "control = /run/other\n"
				   "handshake-timeout = 1500ms\n"
				   "\n"
				   "[pool]\n"
				   "size = 1G\n"
				   "path = /a\n"
				   "warm = 0\n"
				   "\n"
				   "[export a]\n"
				   "size = 1M\n"
				   "default = yes\n"
				   "\n"
				   "[export b]\n"
				   "\n"
				   "[template host-*]\n"
				   "clone = a\n"
				   "size = from-name\n"
				   "max-size = 1G\n";
	struct config_errors errors;
	struct config c;
	char *written;

	(void)state;
	assert_int_equal(conf_load(text, &c, &errors), 0);
	written = config_write(&c);
	assert_non_null(written);
	assert_string_equal(written, text);
	free(written);
	config_free(&c);
	/* The default socket by name is not the same as by default. */
	assert_int_equal(conf_load("[server]\ncontrol = " NBDRAM_RUNDIR
				   "/nbdram/control\n",
				   &c, &errors),
			 0);
	written = config_write(&c);
	assert_string_equal(written, "[server]\ncontrol = " NBDRAM_RUNDIR
				     "/nbdram/control\n\n[pool]\n");
	free(written);
	config_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(lengths),
		cmocka_unit_test(wrong), cmocka_unit_test(copies),
		cmocka_unit_test(whole), cmocka_unit_test(alloc_thin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
