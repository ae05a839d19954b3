/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of keys itself: it is whole, defaults are values, and what was meant
 * by a misspelt key is found. */
#include "unit/conf.h"

#include "check.h"
#include "config-keys.h"

static void whole(void **state)
{
	unsigned section, count, i, j;

	(void)state;
	for (section = 0; section < CONFIG_SECTIONS; section++) {
		const struct config_key *keys = config_keys(section, &count);

		assert_in_range(count, 1, 64);
		for (i = 0; i < count; i++) {
			const struct config_key *key = &keys[i];

			assert_int_equal(key->section, section);
			assert_true(*key->help);
			assert_true(key->least <= key->most);
			assert_ptr_equal(config_key_find(section, key->name),
					 key);
			for (j = 0; j < i; j++)
				assert_string_not_equal(key->name,
							keys[j].name);
			if (key->initial)
				assert_int_equal(
					config_value_check(key, key->initial),
					0);
			if (key->type == CONFIG_CHOICE)
				assert_non_null(key->choices[1]);
			if (key->type == CONFIG_CHOICES)
				assert_non_null(key->choices[2]);
		}
	}
}

/* A key of [server] and one of [pool] never have the same name: -o has both. */
static void apart(void **state)
{
	unsigned count, i;
	const struct config_key *keys = config_keys(CONFIG_SERVER, &count);

	(void)state;
	for (i = 0; i < count; i++)
		assert_null(config_key_find(CONFIG_POOL, keys[i].name));
}

static void defaults_of(enum config_section section, const void *holder)
{
	unsigned count, i;
	const struct config_key *keys = config_keys(section, &count);

	for (i = 0; i < count; i++) {
		char *text = config_key_text(&keys[i], holder);
		const char *initial = keys[i].initial ? keys[i].initial : "";

		assert_non_null(text);
		if (keys[i].type == CONFIG_ADDRESSES)
			initial = ""; /* the listener's to say */
		assert_string_equal(text, initial);
		free(text);
	}
}

static void defaults(void **state)
{
	struct config_errors errors;
	struct config_export e;
	struct config config;

	(void)state;
	assert_int_equal(conf_load("[server]\n", &config, &errors), 0);
	defaults_of(CONFIG_SERVER, &config);
	defaults_of(CONFIG_POOL, &config);
	assert_false(config.control_asked);
	config_free(&config);
	assert_int_equal(config_export_init(&e, "a", "here", &errors), 0);
	defaults_of(CONFIG_EXPORT, &e);
	config_export_free(&e);
}

static void nearest(void **state)
{
	static const struct {
		enum config_section section;
		const char *key, *hint;
	} cases[] = {
		{CONFIG_SERVER, "lisen", "; did you mean \"listen\"?"},
		{CONFIG_SERVER, "listne", "; did you mean \"listen\"?"},
		{CONFIG_SERVER, "LISTEN", "; did you mean \"listen\"?"},
		{CONFIG_SERVER, "worker", "; did you mean \"workers\"?"},
		{CONFIG_SERVER, "max_connections",
		 "; did you mean \"max-connections\"?"},
		{CONFIG_SERVER, "handshake-timeouts",
		 "; did you mean \"handshake-timeout\"?"},
		{CONFIG_EXPORT, "siez", "; did you mean \"size\"?"},
		{CONFIG_EXPORT, "read-only", "; did you mean \"readonly\"?"},
		{CONFIG_SERVER, "path", "; it is one of [pool]"},
		{CONFIG_EXPORT, "workers", "; it is one of [server]"},
		{CONFIG_EXPORT, "expire", "; it is one of [template]"},
		{CONFIG_SERVER, "", ""},
		{CONFIG_SERVER, "x", ""},
		{CONFIG_SERVER, "colour", ""},
		{CONFIG_SERVER,
		 "a-very-long-key-that-is-longer-than-all-others", ""},
	};
	char hint[80];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		config_key_hint(cases[i].section, cases[i].key, hint,
				sizeof(hint));
		assert_string_equal(hint, cases[i].hint);
	}
}

/* What design and manual name for later is unknown until it does something. */
static void later(void **state)
{
	static const char *const server[] = {"metrics"};
	static const char *const export[] = {"rate", "weight"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(server); i++)
		assert_null(config_key_find(CONFIG_SERVER, server[i]));
	for (size_t i = 0; i < ARRAY_SIZE(export); i++)
		assert_null(config_key_find(CONFIG_EXPORT, export[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),    cmocka_unit_test(apart),
		cmocka_unit_test(defaults), cmocka_unit_test(nearest),
		cmocka_unit_test(later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
