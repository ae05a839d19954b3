/* SPDX-License-Identifier: BSD-3-Clause */
/* ini_parse(): what lines of a file are taken for. */
#include "unit/unit.h"

#include <stdio.h>

#include "ini.h"

static char said[8192];

/* One line of text for each that is told. */
static void tell(void *arg, const struct ini_line *line)
{
	size_t at = strlen(said);

	(void)arg;
	switch (line->kind) {
	case INI_SECTION:
		snprintf(said + at, sizeof(said) - at, "%u [%s|%s]\n",
			 line->number, line->word, line->name);
		break;
	case INI_KEY:
		snprintf(said + at, sizeof(said) - at, "%u %s=%s|\n",
			 line->number, line->word, line->value);
		break;
	case INI_WRONG:
		snprintf(said + at, sizeof(said) - at, "%u wrong: %s\n",
			 line->number, line->value);
	}
}

static void expect(const char *text, const char *told)
{
	said[0] = 0;
	ini_parse(text, strlen(text), tell, NULL);
	assert_string_equal(said, told);
}

static void nothing(void **state)
{
	(void)state;
	expect("", "");
	expect("\n", "");
	expect("\n\n  \n\t\n\r\n", "");
	expect("# comment", "");
	expect("; comment\n#\n;\n  # [a]\n\t; a = b\n", "");
	expect("#[a]\n#a = b\n", "");
	expect("\xef\xbb\xbf", "");
}

static void keys(void **state)
{
	(void)state;
	expect("a=b", "1 a=b|\n");
	expect("a = b\n", "1 a=b|\n");
	expect("\n\n \t a\t = \t b c \t\n", "3 a=b c|\n");
	/* A value goes to the end of its line. */
	expect("a = b # c ; d", "1 a=b # c ; d|\n");
	expect("a = b = c", "1 a=b = c|\n");
	expect("a = \"b\"", "1 a=\"b\"|\n");
	expect("a = [b]", "1 a=[b]|\n");
	expect("a = \\\nb = c", "1 a=\\|\n2 b=c|\n");
	expect("a =\n", "1 a=|\n");
	expect("a = gr\xc3\xb6\xc3\x9f\x65", "1 a=gr\xc3\xb6\xc3\x9f\x65|\n");
	expect("a b = c", "1 a b=c|\n");
	expect("a=b\r\nc=d\r\n", "1 a=b|\n2 c=d|\n");
	expect("\xef\xbb\xbf"
	       "a=b",
	       "1 a=b|\n");
}

static void sections(void **state)
{
	(void)state;
	expect("[a]", "1 [a|]\n");
	expect(" [ a ] \r\n", "1 [a|]\n");
	expect("[a b]", "1 [a|b]\n");
	expect("[a  b c ]", "1 [a|b c]\n");
	expect("[a\tb]", "1 [a|b]\n");
	expect("[a b]c]", "1 [a|b]c]\n");
	expect("[a \" b \"]", "1 [a| b ]\n");
	expect("[a \"\"]", "1 [a|]\n");
	expect("[a \"b\"c\"]", "1 [a|b\"c]\n");
	expect("[a b\"]", "1 [a|b\"]\n");
	expect("[a = b]", "1 [a|= b]\n");
	expect("[a]\n[b]\nc=d", "1 [a|]\n2 [b|]\n3 c=d|\n");
}

/* The longest line there may be. */
static void longest(void **state)
{
	char text[INI_LINE_MAX + 3], told[INI_LINE_MAX + 32];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "a=", 2);
	text[INI_LINE_MAX] = 0;
	snprintf(told, sizeof(told), "1 %s|\n", text);
	expect(text, told);
	memcpy(text + INI_LINE_MAX, "\n", 2);
	expect(text, told);
}

/* Any number of lines, and the last one without an end. */
static void numbers(void **state)
{
	static char text[100001 + 4];

	(void)state;
	memset(text, '\n', 100000);
	memcpy(text + 100000, "a=b", 4);
	expect(text, "100001 a=b|\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),  cmocka_unit_test(keys),
		cmocka_unit_test(sections), cmocka_unit_test(longest),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
