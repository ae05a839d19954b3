/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines, depth, and what the writer makes: read again, it is the same. */
#include <errno.h>
#include <stdlib.h>

#include "unit/unit.h"

#include "check.h"
#include "control.h"

static void lines_in_any_pieces(void **state)
{
	static const char input[] = "one\n\nthree and more\nx";
	static const char *const want[] = {"one", "", "three and more"};
	struct control_lines l;
	size_t piece, at, n, len, seen;
	char *line;

	(void)state;
	for (piece = 1; piece <= sizeof(input) - 1; piece++) {
		control_lines_init(&l, 100);
		seen = 0;
		for (at = 0; at < sizeof(input) - 1; at += n) {
			n = min_u64(piece, sizeof(input) - 1 - at);
			assert_int_equal(control_lines_add(&l, input + at, n),
					 0);
			while (control_lines_next(&l, &line, &len) == 1) {
				assert_int_equal(len, strlen(want[seen]));
				assert_string_equal(line, want[seen++]);
			}
		}
		assert_int_equal(seen, ARRAY_SIZE(want));
		assert_true(control_lines_partial(&l));
		control_lines_free(&l);
	}
}

static void lines_too_long(void **state)
{
	struct control_lines l;
	char *line;
	size_t len;

	(void)state;
	control_lines_init(&l, 4);
	control_lines_add(&l, "1234\n", 5);
	assert_int_equal(control_lines_next(&l, &line, &len), 1);
	control_lines_add(&l, "1234", 4);
	assert_int_equal(control_lines_next(&l, &line, &len), 0);
	control_lines_add(&l, "5", 1);
	assert_int_equal(control_lines_next(&l, &line, &len), -EMSGSIZE);
	control_lines_add(&l, "\n", 1);
	assert_int_equal(control_lines_next(&l, &line, &len), -EMSGSIZE);
	control_lines_free(&l);
}

static int parse(const char *text)
{
	struct json_t *value = NULL;
	const char *why = NULL;
	int error = control_parse(text, strlen(text), &value, &why);

	if (error)
		assert_non_null(why);
	control_value_free(value);
	return error;
}

static void depths(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"a\":[[[[[[[1]]]]]]]}"), 0);
	assert_int_equal(parse("{\"a\":[[[[[[[[1]]]]]]]]}"), -EINVAL);
	/* Brackets in strings are none; quotes behind backslashes end none. */
	assert_int_equal(parse("{\"a\":\"[[[[[[[[[[[[\"}"), 0);
	assert_int_equal(parse("{\"a\":\"\\\"[[[[[[[[[[[\"}"), 0);
	assert_int_equal(parse("{\"a\":\"\\\\\",\"b\":[[[[[[[[]]]]]]]]}"),
			 -EINVAL);
	assert_int_equal(parse("[1]"), -EINVAL);
	assert_int_equal(parse(""), -EINVAL);
	assert_int_equal(parse("{\"a\":1,\"a\":2}"), -EINVAL);
	assert_int_equal(parse("{\"a\":\"\xff\"}"), -EINVAL);
}

static void written_and_read(void **state)
{
	struct control_writer w = {0};
	struct control_request r;
	const char *why;
	struct json_t *keys;
	size_t len;
	char *line;

	(void)state;
	control_open(&w, NULL, '{');
	control_put_text(&w, "command", "create");
	control_open(&w, "args", '{');
	control_put_name(&w, "name", "\"\\\x1b\xff", 4);
	control_put_number(&w, "n", UINT64_MAX);
	control_put_truth(&w, "yes", true);
	control_open(&w, "keys", '[');
	control_put_text(&w, NULL, "a");
	control_put_text(&w, NULL, "b");
	control_close(&w, ']');
	control_close(&w, '}');
	control_close(&w, '}');
	line = control_finish(&w, &len);
	assert_non_null(line);
	assert_int_equal(line[len - 1], '\n');
	assert_int_equal(control_request_read(line, len - 1, &r, &why), 0);
	assert_string_equal(r.command, "create");
	assert_string_equal(control_text(r.args, "name"), "\"\\\\\\x1b\\xff");
	assert_int_equal(control_number(r.args, "n"), INT64_MAX);
	assert_true(control_truth(r.args, "yes"));
	assert_false(control_truth(r.args, "no"));
	keys = control_member(r.args, "keys");
	assert_int_equal(control_count(keys), 2);
	assert_string_equal(control_text(control_at(keys, 1), NULL), "b");
	control_request_free(&r);
	free(line);
}

static void answers(void **state)
{
	struct control_answer a;
	const char *why;
	size_t len;
	char *line;

	(void)state;
	line = control_failed("in-use", "it is \"open\"\n", &len);
	assert_int_equal(control_answer_read(line, len - 1, &a, &why), 0);
	assert_int_equal(a.kind, CONTROL_FAILED);
	assert_string_equal(a.code, "in-use");
	assert_string_equal(a.error, "it is \"open\"\\x0a");
	control_answer_free(&a);
	free(line);
	line = control_ok("{\"a\":1}", &len);
	assert_int_equal(control_answer_read(line, len - 1, &a, &why), 0);
	assert_int_equal(a.kind, CONTROL_OK);
	assert_int_equal(control_number(a.value, "a"), 1);
	control_answer_free(&a);
	free(line);
	assert_int_equal(control_answer_read("{\"ok\":true}", 11, &a, &why),
			 -EINVAL);
	assert_int_equal(
		control_answer_read("{\"ok\":1,\"result\":1}", 19, &a, &why),
		-EINVAL);
}

static void too_much(void **state)
{
	struct control_writer w = {0};
	char text[65536];
	size_t len;
	unsigned i;

	(void)state;
	memset(text, 'x', sizeof(text));
	control_open(&w, NULL, '[');
	for (i = 0; i < CONTROL_ANSWER_MAX / sizeof(text) + 2; i++)
		control_put_name(&w, NULL, text, sizeof(text));
	control_close(&w, ']');
	assert_null(control_finish(&w, &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_in_any_pieces),
		cmocka_unit_test(lines_too_long),
		cmocka_unit_test(depths),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(answers),
		cmocka_unit_test(too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
