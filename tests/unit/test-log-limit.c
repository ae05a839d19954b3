/* SPDX-License-Identifier: BSD-3-Clause */
/* How many lines of a kind the log takes, and what it says of the rest. */
#include "unit/unit.h"

#include <stdio.h>

#include "log-limit.h"

static const char one[] = "one", two[] = "two";

static unsigned written(const void *format, uint64_t about, time_t now,
			unsigned lines)
{
	struct log_held *held;
	unsigned count = 0;

	while (lines-- > 0) {
		count += log_limit(format, about, now, &held);
		if (held)
			snprintf(held->text, sizeof(held->text), "%s %u",
				 (const char *)format, (unsigned)about);
	}
	return count;
}

static void of_a_kind(void **state)
{
	const struct log_held *held;

	(void)state;
	assert_int_equal(written(one, 1, 10, 100), LOG_LIMIT_KIND);
	/* Neither another reason nor another format is hidden by it. */
	assert_int_equal(written(one, 2, 10, 1), 1);
	assert_int_equal(written(two, 1, 10, 1), 1);
	assert_true(log_limit_holds());
	assert_null(log_limit_over(10));
	held = log_limit_over(11);
	assert_non_null(held);
	assert_int_equal(held->lines, 100 - LOG_LIMIT_KIND);
	assert_string_equal(held->text, "one 1");
	assert_null(log_limit_over(11));
	assert_false(log_limit_holds());
	/* In the next second it begins anew. */
	assert_int_equal(written(one, 1, 11, 100), LOG_LIMIT_KIND);
	assert_non_null(log_limit_over(12));
}

static void of_a_format(void **state)
{
	unsigned i, count = 0, told = 0;
	const struct log_held *held;

	(void)state;
	for (i = 0; i < 100000; i++)
		count += written(one, i, 20, 1);
	assert_int_equal(count, LOG_LIMIT_FORMAT);
	/* Whoever makes that much hides what has the same format, not others,
	 * and every line is told of. */
	assert_int_equal(written(two, 1, 20, 1), 1);
	while ((held = log_limit_over(21)))
		told += held->lines;
	assert_int_equal(told, 100000 - LOG_LIMIT_FORMAT);
}

/* A place with untold lines is not taken by others: each line is written or told
 * of. */
static void untold(void **state)
{
	unsigned i, told = 0, wrote = 0;
	const struct log_held *held;

	(void)state;
	for (i = 0; i < 1000; i++)
		wrote += written(one, i, 30 + i, 21);
	while ((held = log_limit_over(5000)))
		told += held->lines;
	assert_true(told > 0);
	assert_int_equal(wrote + told, 21000);
	assert_false(log_limit_holds());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_kind),
		cmocka_unit_test(of_a_format),
		cmocka_unit_test(untold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
