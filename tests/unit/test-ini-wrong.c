/* SPDX-License-Identifier: BSD-3-Clause */
/* ini_parse(): lines that are none. Each is told with its number, and those
 * behind it are read all the same. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "ini.h"

struct told {
	unsigned wrong, number, keys;
	char what[128];
};

static void tell(void *arg, const struct ini_line *line)
{
	struct told *told = arg;

	if (line->kind == INI_WRONG) {
		told->wrong++;
		told->number = line->number;
		snprintf(told->what, sizeof(told->what), "%s", line->value);
	} else if (line->kind == INI_KEY) {
		told->keys++;
	}
}

/* Line 2 of 3 is wrong in this way. */
static void expect_bytes(const char *line, size_t len, const char *what,
			 unsigned keys)
{
	size_t size = len + 8;
	struct told told = {0};
	char *text = malloc(size);

	assert_non_null(text);
	memcpy(text, "a=b\n", 4);
	memcpy(text + 4, line, len);
	memcpy(text + 4 + len, "\nc=d", 4);
	ini_parse(text, size, tell, &told);
	free(text);
	if (told.wrong != 1 || told.number != 2 || told.keys != keys ||
	    !strstr(told.what, what))
		fail_msg("\"%.40s\": %u wrong, line %u, %u keys: %s", line,
			 told.wrong, told.number, told.keys, told.what);
}

static void expect(const char *line, const char *what)
{
	expect_bytes(line, strlen(line), what, 2);
}

static void lines(void **state)
{
	(void)state;
	expect("word", "neither [SECTION] nor KEY = VALUE");
	expect("two words", "neither");
	expect("]", "neither");
	expect("= value", "no key");
	expect("=", "no key");
	expect("[", "no ]");
	expect("[a", "no ]");
	expect("[a # ]x", "behind");
	expect("[a] # comment", "behind [SECTION]");
	expect("[a] b = c", "behind [SECTION]");
	expect("[]", "without a name");
	expect("[  ]", "without a name");
	expect("[a \"b]", "no \"");
	expect("[a \"]", "no \"");
	expect("[a \"b\" c]", "no \"");
}

/* Each byte that no editor writes, at each end and in the middle. */
static void control(void **state)
{
	(void)state;
	for (int c = 1; c < 128; c++) {
		char at_begin[] = "xk=v", middle[] = "k=vxv", comment[] = "#x";

		if ((c >= ' ' && c < 127) || c == '\t' || c == '\n')
			continue;
		at_begin[0] = middle[3] = comment[1] = (char)c;
		expect(at_begin, "control character");
		expect(middle, "control character");
		if (c != '\r') /* the end of a line of DOS */
			expect(comment, "control character");
	}
	expect("a=b\r\r", "control character");
}

static void too_long(void **state)
{
	static char line[3 * INI_LINE_MAX];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	expect(line, "longer than 4095 bytes");
	line[INI_LINE_MAX + 1] = 0;
	expect(line, "longer than 4095 bytes");
	/* A comment too: nobody writes one like this. */
	line[0] = '#';
	expect(line, "longer than 4095 bytes");
}

/* What is not text at all is told once, and ends it. */
static void no_text(void **state)
{
	struct told told = {0};

	(void)state;
	expect_bytes("a\0b", 3, "no text file", 1);
	expect_bytes("\0", 1, "no text file", 1);
	expect_bytes("\0\n\0\n\0", 5, "no text file", 1);
	ini_parse("\0", 1, tell, &told);
	assert_int_equal(told.wrong, 1);
	assert_int_equal(told.number, 1);
	memset(&told, 0, sizeof(told));
	ini_parse("\xff\xfe[\0a\0]\0", 8, tell, &told);
	assert_int_equal(told.wrong, 1);
	assert_non_null(strstr(told.what, "UTF-16"));
	memset(&told, 0, sizeof(told));
	ini_parse("\xfe\xff\0[\0a\0]", 8, tell, &told);
	assert_int_equal(told.wrong, 1);
	assert_non_null(strstr(told.what, "UTF-16"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(control),
		cmocka_unit_test(too_long),
		cmocka_unit_test(no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
