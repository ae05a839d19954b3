/* SPDX-License-Identifier: BSD-3-Clause */
/* parse_bool(): the eight words, in either case, and nothing else. */
#include "unit/unit.h"

#include <errno.h>

#include "parse.h"

static void expect(const char *text, int result, bool value)
{
	/* Both ways, so that a result that was not written shows. */
	for (int before = 0; before <= 1; before++) {
		bool got = before;
		int ret = parse_bool(text, &got);

		if (ret != result || got != (result ? (bool)before : value))
			fail_msg("\"%s\" gave %d, %d", text, ret, got);
	}
}

static void words(void **state)
{
	static const char *const yes[] = {"yes",  "YES", "Yes", "true", "TRUE",
					  "True", "on",	 "ON",	"On",	"1"};
	static const char *const no[] = {"no",	  "NO",	   "No",  "false",
					 "FALSE", "False", "off", "OFF",
					 "Off",	  "0"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		expect(yes[i], 0, true);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		expect(no[i], 0, false);
}

static void other(void **state)
{
	static const char *const texts[] = {
		"",	"y",   "n",    "t",	"f",	   "ye",    "yess",
		"yes ", " no", "no\n", "truee", "enabled", "2",	    "00",
		"01",	"-1",  "+1",   "1.0",	"o",	   "onoff",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect(texts[i], -EINVAL, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
