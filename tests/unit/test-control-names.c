/* SPDX-License-Identifier: BSD-3-Clause */
/* Names as they stand in messages: every run of bytes has one form, which gives
 * the same bytes again, and has nothing in it that could do harm. */
#include <stdio.h>
#include <stdlib.h>

#include "unit/unit.h"

#include "check.h"
#include "control.h"

static void check_form(const void *bytes, size_t len, const char *form)
{
	char *text = control_name_write(bytes, len), *back;
	size_t n;

	assert_non_null(text);
	if (form)
		assert_string_equal(text, form);
	back = control_name_read(text, &n);
	assert_non_null(back);
	assert_int_equal(n, len);
	assert_memory_equal(back, bytes, len);
	free(text);
	free(back);
}

static void known_forms(void **state)
{
	static const struct {
		const char *bytes, *form;
	} pairs[] = {
		{"", ""},
		{"plain name", "plain name"},
		{"a\\b", "a\\\\b"},
		{"\\x41", "\\\\x41"},
		{"\"", "\""},
		{"caf\xc3\xa9", "caf\xc3\xa9"},
		{"\xf0\x9f\x92\xbe", "\xf0\x9f\x92\xbe"},
		{"\x1b[0m", "\\x1b[0m"},
		{"\n\t\x7f", "\\x0a\\x09\\x7f"},
		{"\xff", "\\xff"},
		{"\xc3", "\\xc3"},
		{"\xc3(", "\\xc3("},
		{"\xc0\x80", "\\xc0\\x80"},		      /* not shortest */
		{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},	      /* likewise */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},	      /* a surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* too large */
		{"\xc2\x9b", "\\xc2\\x9b"},		      /* a control */
		{"\xe2\x80\xae", "\\xe2\\x80\\xae"},	      /* turns text */
		{"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},	      /* breaks lines */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		check_form(pairs[i].bytes, strlen(pairs[i].bytes),
			   pairs[i].form);
}

static void all_pairs(void **state)
{
	uint8_t bytes[3];

	(void)state;
	for (unsigned a = 1; a < 256; a++) {
		for (unsigned b = 1; b < 256; b++) {
			bytes[0] = a;
			bytes[1] = b;
			bytes[2] = 0x80;
			check_form(bytes, 2, NULL);
			check_form(bytes, 3, NULL);
		}
	}
}

static void no_forms(void **state)
{
	static const char *const wrong[] = {"\\",      "a\\",	"\\x", "\\x1",
					    "\\x1g",   "\\x00", "\\n", "\\X41",
					    "\\u0041", "\\ "};
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_null(control_name_read(wrong[i], &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_forms),
		cmocka_unit_test(all_pairs),
		cmocka_unit_test(no_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
