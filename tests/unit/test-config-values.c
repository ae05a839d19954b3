/* SPDX-License-Identifier: BSD-3-Clause */
/* Every key of every section is given every kind of wrong value, in a file: each
 * is told in one line that says where, which key, which value and what is wanted;
 * and good values, which come out again as they went in. */
#include "unit/conf.h"

#include "check.h"
#include "config-keys.h"

#define LONG_PATH                                                        \
	"/0123456789012345678901234567890123456789012345678901234567890" \
	"123456789012345678901234567890123456789012345678"

/* Of these none is a value of that type, whatever the range. */
static const char *const wrong_numbers[] = {
	"",
	" ",
	"x",
	"-1",
	"+1",
	"1.5",
	"1,5",
	"0x10",
	"1e3",
	"ten",
	"1 0",
	"10 G",
	"1GB",
	"1GiB",
	"K",
	"10x",
	"nan",
	"1_000",
	"from",
	"yes",
	"1G;",
	"1G #",
	"auto1",
	"\xef\xbc\x91",
	"99999999999999999999",
	"18446744073709551617",
	"automatic",
};
static const char *const wrong_counts[] = {"1K", "1s", "4294967297"};
static const char *const wrong_times[] = {
	"1K", "1sec", "s", "1 s", "1.5s", "99999999999999999h", "1w", "1S"};
static const char *const wrong_bools[] = {
	"", "y", "n", "2", "-1", "maybe", "yes no", "yes # no", "yes;", "ja",
};
static const char *const wrong_rules[] = {
	"nobody",
	"10.0.0.0/33",
	"10.1.2.3/8",
	"10.0.0",
	"10.0.0.0/",
	"10.0.0.0/-1",
	"10.0.0.0/8/8",
	"::1/129",
	"fd00::1/64",
	"cert:",
	"psk:",
	"uid:",
	"uid:root",
	"uid:-1",
	"uid:4294967295",
	"any,",
	"any,,any",
	"any xx",
	"ro",
	"cert:a, nobody",
	"10.0.0.0 /8",
	"localhost",
	"10.0.0.0/8 ro rw",
	"any:",
	"cert",
	"certificate:a",
};
static const char *const wrong_choices[] = {
	"", "x", "yes", "0", "THIN", "thin fixed", "thin,fixed", "Always",
};
static const char *const wrong_waits[] = {
	"",	    "x",	  "wait",     "wait ",	   "5s",
	"wait5s",   "wait 0",	  "wait -1s", "wait 99ms", "wait 61m",
	"error 5s", "wait error", "Wait 5s",  "wait 5 s",  "wait 5s wait 5s",
};
static const char *const wrong_nodes[] = {
	"",    "x",  "-1",  "1024", "0-1", "node0", "interleave 0",
	"all", "1K", "0,1",
};
static const char *const wrong_texts[] = {""};
static const char *const wrong_sockets[] = {"", LONG_PATH};
static const char *const wrong_names[] = {"", "a;b", ";"};
static const char *const wrong_words[] = {"", "ext4 xfs", "a/b", "ext4;",
					  "$(x)"};
static const char *const wrong_lists[] = {"", ",", "a,", ",a", "a,,b", "a, ,b"};
static const char *const wrong_addresses[] = {
	"",	    ",",
	"a:1,",	    ",a:1",
	"a:1,,b:1", ":",
	"a:",	    "a:65536",
	"a:-1",	    "a:+1",
	"[::1",	    "[::1]x",
	"[]:1",	    "::1",
	"a b:1",    "a:1 b:2",
	"unix:",    "a:0x10",
	"a:1:2",    "unix:" LONG_PATH,
	"a:1 # b",  "a:99999999999999999999",
};

struct list {
	const char *const *values;
	size_t count;
};
#define LIST(values)                       \
	(struct list)                      \
	{                                  \
		values, ARRAY_SIZE(values) \
	}

/* Where a file has the section's keys, and what comes before. */
static const char *const heads[CONFIG_SECTIONS] = {
	[CONFIG_SERVER] = "[server]\n",
	[CONFIG_POOL] = "[pool]\n",
	[CONFIG_EXPORT] = "[export a]\n",
	[CONFIG_TEMPLATE] = "[template a*]\n",
};

/* What has to stand behind it so that nothing but the key can be wrong. */
static const char *tail(const struct config_key *key)
{
	if (key->section != CONFIG_TEMPLATE)
		return "";
	return strcmp(key->name, "size") == 0 ? "clone = b\n" : "size = 1M\n";
}

static unsigned tried;

static void refused(const struct config_key *key, const char *value)
{
	char text[512], line[64], wanted[128], begin[64];
	struct config_errors errors;
	struct config config;
	int result;

	tried++;
	snprintf(text, sizeof(text), "%s%s = %s\n%s", heads[key->section],
		 key->name, value, tail(key));
	result = conf_load(text, &config, &errors);
	if (result != -EINVAL || errors.count != 1 || errors.more)
		fail_msg("%d, %u lines: %s", result, errors.count, text);
	snprintf(line, sizeof(line), ":2: %s = ", key->name);
	config_value_wanted(key, wanted, sizeof(wanted));
	snprintf(begin, sizeof(begin), "/proc/self/fd/");
	if (strncmp(errors.lines[0], begin, strlen(begin)) != 0 ||
	    !strstr(errors.lines[0], line) ||
	    !strstr(errors.lines[0], wanted) ||
	    strpbrk(errors.lines[0], "\n\r\t"))
		fail_msg("%s gave: %s", text, errors.lines[0]);
	/* Nothing of it is left, and nothing was the command line's. */
	assert_int_equal(errors.usage, 0);
	assert_int_equal(config.export_count, 0);
	assert_null(config.control);
	config_free(&config);
	config_errors_free(&errors);
}

static void refuse_all(const struct config_key *key, struct list list)
{
	for (size_t i = 0; i < list.count; i++)
		refused(key, list.values[i]);
}

/* One beside each end of the range. */
static void refuse_beyond(const struct config_key *key)
{
	const char *unit = key->type == CONFIG_TIME ? "ms" : "";
	bool zero = key->initial && strcmp(key->initial, "auto") == 0 &&
		    key->type == CONFIG_COUNT;
	char value[32];

	if (key->least > 0 && !(zero && key->least == 1)) {
		snprintf(value, sizeof(value), "%llu%s",
			 (unsigned long long)key->least - 1, unit);
		refused(key, value);
	}
	snprintf(value, sizeof(value), "%llu%s",
		 (unsigned long long)key->most + 1, unit);
	refused(key, value);
}

static void wrong_of(const struct config_key *key)
{
	switch (key->type) {
	case CONFIG_COUNT:
		refuse_all(key, LIST(wrong_counts));
		refuse_all(key, LIST(wrong_numbers));
		refuse_beyond(key);
		break;
	case CONFIG_TIME:
		refuse_all(key, LIST(wrong_times));
		refuse_all(key, LIST(wrong_numbers));
		refuse_beyond(key);
		break;
	case CONFIG_SIZE:
	case CONFIG_SIZE_FROM_NAME:
		refuse_all(key, LIST(wrong_numbers));
		refuse_beyond(key);
		break;
	case CONFIG_BOOL:
		refuse_all(key, LIST(wrong_bools));
		break;
	case CONFIG_CHOICE:
	case CONFIG_CHOICES:
		refuse_all(key, LIST(wrong_choices));
		break;
	case CONFIG_WAIT:
		refuse_all(key, LIST(wrong_waits));
		break;
	case CONFIG_NODE:
		refuse_all(key, LIST(wrong_nodes));
		break;
	case CONFIG_PATH:
	case CONFIG_TEXT:
		refuse_all(key, LIST(wrong_texts));
		break;
	case CONFIG_SOCKET:
		refuse_all(key, LIST(wrong_sockets));
		break;
	case CONFIG_NAME:
		refuse_all(key, LIST(wrong_names));
		break;
	case CONFIG_WORD:
		refuse_all(key, LIST(wrong_words));
		break;
	case CONFIG_ACCESS:
		refuse_all(key, LIST(wrong_rules));
		refuse_all(key, LIST(wrong_lists));
		break;
	case CONFIG_ADDRESSES:
		refuse_all(key, LIST(wrong_addresses));
		break;
	}
}

static void each_key(void (*test)(const struct config_key *key))
{
	unsigned section, count, i;

	for (section = 0; section < CONFIG_SECTIONS; section++) {
		const struct config_key *keys = config_keys(section, &count);

		for (i = 0; i < count; i++)
			test(&keys[i]);
	}
}

static void wrong(void **state)
{
	(void)state;
	each_key(wrong_of);
	print_message("%u wrong values\n", tried);
	assert_true(tried > 500);
}

/* Below all the same: a key that is not there, a key twice. */
static void twice_and_unknown(const struct config_key *key)
{
	const char *value =
		key->type == CONFIG_CHOICE || key->type == CONFIG_CHOICES
			? key->choices[1]
		: key->type == CONFIG_ACCESS ? "any"
		: key->type == CONFIG_WAIT   ? "error"
		: key->type == CONFIG_BOOL   ? "yes"
		: key->type == CONFIG_SIZE || key->type == CONFIG_SIZE_FROM_NAME
			? "4096K"
			: "7";
	struct config_errors errors;
	struct config config;
	char text[512];

	if (key->most == 65536)
		value = "4096";
	snprintf(text, sizeof(text), "%s%s = %s\n%sx = %s\n\n%s = %s\n%s",
		 heads[key->section], key->name, value, key->name, value,
		 key->name, value, tail(key));
	assert_int_equal(conf_load(text, &config, &errors), -EINVAL);
	if (errors.count != 2)
		fail_msg("%u lines, %s: %s", errors.count, errors.lines[0],
			 text);
	assert_non_null(strstr(errors.lines[0], ":3: there is no key"));
	assert_non_null(strstr(errors.lines[0], key->name));
	assert_non_null(strstr(errors.lines[1], ":5: "));
	assert_non_null(strstr(errors.lines[1], "is set in line 2 already"));
	config_errors_free(&errors);
	config_free(&config);
}

static void keys(void **state)
{
	(void)state;
	each_key(twice_and_unknown);
}

/* ------------------------------------------------------------- good ones */

static void taken(enum config_section section, const char *name,
		  const char *value, const char *shown)
{
	const struct config_key *key = config_key_find(section, name);
	struct config_errors errors;
	struct config config;
	char text[512], *again;

	assert_non_null(key);
	snprintf(text, sizeof(text), "%s%s = %s\n%s", heads[section], name,
		 value, tail(key));
	if (conf_load(text, &config, &errors))
		fail_msg("%s: %s", text, errors.lines[0]);
	again = config_key_text(
		key, section == CONFIG_EXPORT	  ? (void *)config.exports
		     : section == CONFIG_TEMPLATE ? (void *)config.templates
						  : (void *)&config);
	assert_non_null(again);
	assert_string_equal(again, shown);
	free(again);
	config_free(&config);
}

static void good(void **state)
{
	(void)state;
	taken(CONFIG_SERVER, "workers", "1", "1");
	taken(CONFIG_SERVER, "workers", "256", "256");
	taken(CONFIG_SERVER, "workers", "auto", "auto");
	taken(CONFIG_SERVER, "workers", "0", "auto");
	taken(CONFIG_SERVER, "insecure", "ON", "yes");
	taken(CONFIG_SERVER, "insecure", "false", "no");
	taken(CONFIG_SERVER, "handshake-timeout", "100ms", "100ms");
	taken(CONFIG_SERVER, "handshake-timeout", "10", "10s");
	taken(CONFIG_SERVER, "handshake-timeout", "1h", "1h");
	taken(CONFIG_SERVER, "handshake-timeout", "60s", "1m");
	taken(CONFIG_SERVER, "handshake-timeout", "1500ms", "1500ms");
	taken(CONFIG_SERVER, "listen", "a:1", "a:1");
	taken(CONFIG_SERVER, "listen", "a , [::1]:2,:3,unix:/a b",
	      "a, [::1]:2, :3, unix:/a b");
	taken(CONFIG_SERVER, "listen", "localhost:nbd", "localhost:nbd");
	taken(CONFIG_SERVER, "control", "/x", "/x");
	taken(CONFIG_POOL, "size", "1M", "1M");
	taken(CONFIG_POOL, "size", "8t", "8T");
	taken(CONFIG_POOL, "size", "auto", "auto");
	taken(CONFIG_POOL, "size", "1048577", "1048577");
	taken(CONFIG_POOL, "warm", "0", "0");
	taken(CONFIG_POOL, "path", "/a b/ # c", "/a b/ # c");
	taken(CONFIG_EXPORT, "size", "1", "1");
	taken(CONFIG_EXPORT, "size", "9223372036854775807",
	      "9223372036854775807");
	taken(CONFIG_EXPORT, "size", "1024K", "1M");
	taken(CONFIG_EXPORT, "size", "1025k", "1025K");
	taken(CONFIG_EXPORT, "alloc", "fixed", "fixed");
	taken(CONFIG_EXPORT, "clone", "a b", "a b");
	taken(CONFIG_EXPORT, "default", "1", "yes");
	taken(CONFIG_EXPORT, "max-connections", "10000000", "10000000");
	taken(CONFIG_TEMPLATE, "size", "from-name\nmax-size = 1G", "from-name");
	taken(CONFIG_TEMPLATE, "expire", "30d", "30d");
	taken(CONFIG_TEMPLATE, "allow", "cert:%*, any ro", "cert:%*, any ro");
	taken(CONFIG_TEMPLATE, "fresh", "always", "always");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong),
		cmocka_unit_test(keys),
		cmocka_unit_test(good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
