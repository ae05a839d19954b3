/* SPDX-License-Identifier: BSD-3-Clause */
/* parse_size(): what is a size, what is not, and what does not fit. */
#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>

#include "parse.h"

#define UNTOUCHED UINT64_C(0x5555aaaa5555aaaa)

static void expect(const char *text, int result, uint64_t size)
{
	uint64_t got = UNTOUCHED;
	int ret = parse_size(text, &got);

	if (ret != result || got != (result ? UNTOUCHED : size))
		fail_msg("\"%s\" gave %d, %llu; should be %d, %llu", text, ret,
			 (unsigned long long)got, result,
			 (unsigned long long)size);
}

static void sizes(void **state)
{
	(void)state;
	expect("0", 0, 0);
	expect("1", 0, 1);
	expect("512", 0, 512);
	expect("0000000000000000000000000000512", 0, 512);
	expect("512B", 0, 512);
	expect("512b", 0, 512);
	expect("3s", 0, 1536);
	expect("3S", 0, 1536);
	expect("64K", 0, 65536);
	expect("64k", 0, 65536);
	expect("3M", 0, UINT64_C(3) << 20);
	expect("3m", 0, UINT64_C(3) << 20);
	expect("16G", 0, UINT64_C(16) << 30);
	expect("16g", 0, UINT64_C(16) << 30);
	expect("2T", 0, UINT64_C(2) << 40);
	expect("2t", 0, UINT64_C(2) << 40);
	expect("5P", 0, UINT64_C(5) << 50);
	expect("5p", 0, UINT64_C(5) << 50);
	expect("7E", 0, UINT64_C(7) << 60);
	expect("7e", 0, UINT64_C(7) << 60);
	expect("0E", 0, 0);
	/* Around the places where 32 bits end. */
	expect("4294967295", 0, UINT64_C(4294967295));
	expect("4294967296", 0, UINT64_C(4294967296));
	expect("4096M", 0, UINT64_C(4096) << 20);
	expect("4G", 0, UINT64_C(4) << 30);
}

static void largest(void **state)
{
	(void)state;
	expect("9223372036854775807", 0, INT64_MAX);
	expect("9223372036854775807B", 0, INT64_MAX);
	expect("9007199254740991K", 0, UINT64_C(9007199254740991) << 10);
	expect("18014398509481983s", 0, UINT64_C(18014398509481983) << 9);
	expect("8388607T", 0, UINT64_C(8388607) << 40);
}

static void too_large(void **state)
{
	(void)state;
	expect("9223372036854775808", -ERANGE, 0);
	expect("18446744073709551615", -ERANGE, 0);
	/* These would wrap around to something small. */
	expect("18446744073709551616", -ERANGE, 0);
	expect("18446744073709551617", -ERANGE, 0);
	expect("18446744073709555712", -ERANGE, 0);
	expect("36893488147419103232", -ERANGE, 0);
	expect("99999999999999999999999999999999999999", -ERANGE, 0);
	expect("18014398509481984s", -ERANGE, 0);
	expect("9007199254740992K", -ERANGE, 0);
	expect("18014398509481985K", -ERANGE, 0);
	expect("8388608T", -ERANGE, 0);
	expect("8192P", -ERANGE, 0);
	expect("8E", -ERANGE, 0);
	expect("16E", -ERANGE, 0);
	expect("17E", -ERANGE, 0);
}

static void malformed(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		" 1",
		"1 ",
		"1\n",
		"\t1",
		"+1",
		"-1",
		"-0",
		"--1",
		"G",
		"K1",
		"1KB",
		"1KiB",
		"1GG",
		"1G1",
		"1.5G",
		"1,5G",
		"1e3",
		"0x10",
		"0x",
		"1_000",
		"1 G",
		"ten",
		"1Z",
		"1Y",
		"1i",
		"1%",
		"1G ",
		"\xef\xbc\x91",
		"1\xc2\xb5",
		"nan",
		"inf",
		/* Malformed comes before too large. */
		"99999999999999999999999x",
		"99999999999999999999 G",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect(texts[i], -EINVAL, 0);
}

/* Each single character alone, and behind a digit. */
static void each_character(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char alone[2] = {(char)c, 0};
		char behind[3] = {'1', (char)c, 0};
		uint64_t value;
		bool digit = c >= '0' && c <= '9';
		bool suffix = strchr("bskmgtpeBSKMGTPE", c) != NULL;

		assert_int_equal(parse_size(alone, &value),
				 digit ? 0 : -EINVAL);
		assert_int_equal(parse_size(behind, &value),
				 digit || suffix ? 0 : -EINVAL);
	}
}

/* What printf writes is read back, over the whole range. */
static void round_trip(void **state)
{
	uint64_t random = UINT64_C(88172645463325252);

	(void)state;
	for (int i = 0; i < 100000; i++) {
		char text[32];
		uint64_t value;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		value = random >> 1 >> i % 63;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
		expect(text, 0, value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),	  cmocka_unit_test(largest),
		cmocka_unit_test(too_large),	  cmocka_unit_test(malformed),
		cmocka_unit_test(each_character), cmocka_unit_test(round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
