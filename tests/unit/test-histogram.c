/* SPDX-License-Identifier: BSD-3-Clause */
/* histogram_at(): percentiles are those of the sorted values, to 0.4 %, whatever the
 * values are. */
#include "unit/unit.h"

#include <stdlib.h>

#include "check.h"
#include "histogram.h"

#define VALUES 20000

static const double shares[] = {0, 0.001, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The histogram of n values says what the values themselves say. */
static void expect_like(uint64_t *values, unsigned n)
{
	struct histogram *h = calloc(1, sizeof(*h));
	uint64_t before = 0;
	double sum = 0;
	unsigned i;

	assert_non_null(h);
	for (i = 0; i < n; i++) {
		histogram_add(h, values[i]);
		sum += (double)values[i];
	}
	qsort(values, n, sizeof(*values), compare);
	assert_true(h->count == n && h->most == values[n - 1]);
	assert_true(histogram_mean(h) >= sum / n * 0.999999 &&
		    histogram_mean(h) <= sum / n * 1.000001);
	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		uint64_t rank = (uint64_t)(shares[i] * n + 0.999999);
		double right = (double)values[rank > 0 ? rank - 1 : 0];
		uint64_t got = histogram_at(h, shares[i]);

		if ((double)got < right * 0.996 || (double)got > right * 1.004)
			fail_msg("%g of %u values: %llu, should be %g",
				 shares[i], n, (unsigned long long)got, right);
		assert_true(got >= before && got <= h->most);
		before = got;
	}
	free(h);
}

static uint64_t random_bits(unsigned bits)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 5; i++)
		value = value << 15 ^ (uint64_t)(random() & 0x7fff);
	return bits < 64 ? value & ((UINT64_C(1) << bits) - 1) : value;
}

static void random_values(void **state)
{
	uint64_t *values = calloc(VALUES, sizeof(*values));
	unsigned bits, i;

	(void)state;
	assert_non_null(values);
	for (bits = 1; bits <= 64; bits += 3) {
		for (i = 0; i < VALUES; i++)
			values[i] = random_bits(bits);
		expect_like(values, VALUES);
		/* As latencies are: many short ones, and a long tail. */
		for (i = 0; i < VALUES; i++)
			values[i] = random_bits(1 + (unsigned)random() % bits);
		expect_like(values, VALUES);
	}
	free(values);
}

static void few_values(void **state)
{
	const uint64_t edges[] = {0,   1,   127, 128,	     255,
				  256, 257, 511, UINT64_MAX, INT64_MAX};
	uint64_t one, hundred[100];
	struct histogram none = {0};
	unsigned i;

	(void)state;
	assert_true(histogram_at(&none, 0.5) == 0);
	assert_true(histogram_mean(&none) == 0);
	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		one = edges[i];
		expect_like(&one, 1);
	}
	/* 99 of 100 are the 99 smallest, not all of them. */
	for (i = 0; i < 100; i++)
		hundred[i] = i + 1;
	expect_like(hundred, 100);
}

int main(void)
{
	const char *seed = getenv("NBDRAM_TEST_SEED");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_values),
		cmocka_unit_test(few_values),
	};

	srandom(seed ? atoi(seed) : 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
