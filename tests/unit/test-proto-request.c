/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: both forms of header taken apart, and what the terms say to every
 * command, flag, length and offset. */
#include "unit/unit.h"

#include <errno.h>
#include <stdlib.h>

#include "unit/talk.h"

#define GIB (UINT64_C(1) << 30)
#define MAX (UINT64_C(64) << 20)

/* A writable disk of 1 GiB, or what the test changes in it. */
static struct proto_terms terms_of(enum proto_replies replies)
{
	struct proto_terms terms = {
		.replies = replies,
		.flags = PROTO_FLAGS_WRITABLE | NBD_FLAG_HAS_FLAGS,
		.size = GIB,
		.block_min = 1,
		.block_preferred = 4096,
		.payload_max = PROTO_PAYLOAD_MAX,
		.context_count = 2,
		.contexts = {{.id = 1, .kind = PROTO_ALLOCATION},
			     {.id = 7, .kind = PROTO_BITMAP}},
	};

	if (replies != PROTO_SIMPLE)
		terms.flags |= NBD_FLAG_SEND_DF;
	else
		terms.context_count = 0;
	if (replies == PROTO_EXTENDED)
		terms.flags |= NBD_FLAG_BLOCK_STATUS_PAYLOAD;
	return terms;
}

/* ---------------------------------------------------------------- parsing */

/* Every number of bytes below the header's is too few; each copy has its exact
 * size, so that reading beyond it shows. */
static void parse_at_all_lengths(const struct proto_terms *terms,
				 const char *text, size_t size,
				 struct proto_request *request)
{
	uint8_t in[64];
	size_t len = bytes_of(text, in, sizeof(in));

	for (size_t n = 0; n <= len; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		assert_non_null(copy);
		memcpy(copy, in, n);
		assert_int_equal(proto_parse_request(terms, copy, n, request),
				 n < size ? 0 : size);
		free(copy);
	}
}

static void compact(void **state)
{
	static const enum proto_replies forms[] = {PROTO_SIMPLE,
						   PROTO_STRUCTURED};
	struct proto_request request;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct proto_terms terms = terms_of(forms[i]);

		parse_at_all_lengths(&terms,
				     "25609513 0001 0001 1122334455667788"
				     "0102030405060708 a0b0c0d0 'data'",
				     28, &request);
		assert_memory_equal(&request.cookie,
				    "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
		assert_int_equal(request.offset, 0x0102030405060708);
		assert_int_equal(request.length, 0xa0b0c0d0);
		assert_int_equal(request.payload, 0xa0b0c0d0);
		assert_int_equal(request.command, NBD_CMD_WRITE);
		assert_int_equal(request.flags, NBD_CMD_FLAG_FUA);
		parse_at_all_lengths(&terms,
				     "25609513 8034 0007 ff*8 ff*8 ffffffff",
				     28, &request);
		assert_true(request.cookie == UINT64_MAX);
		assert_true(request.offset == UINT64_MAX);
		assert_int_equal(request.length, UINT32_MAX);
		assert_int_equal(request.command, NBD_CMD_BLOCK_STATUS);
		assert_int_equal(request.flags, 0x8034);
		/* In short headers nothing but WRITE has a payload. */
		assert_int_equal(request.payload, 0);
	}
}

static void extended(void **state)
{
	struct proto_terms terms = terms_of(PROTO_EXTENDED);
	struct proto_request request;

	(void)state;
	parse_at_all_lengths(&terms,
			     "21e41c71 0020 0001 1122334455667788"
			     "0102030405060708 0000000000000200 'data'",
			     32, &request);
	assert_memory_equal(&request.cookie, "\x11\x22\x33\x44\x55\x66\x77\x88",
			    8);
	assert_int_equal(request.offset, 0x0102030405060708);
	assert_int_equal(request.length, 512);
	assert_int_equal(request.payload, 512);
	assert_int_equal(request.command, NBD_CMD_WRITE);
	assert_int_equal(request.flags, NBD_CMD_FLAG_PAYLOAD_LEN);
	/* The length is that of the range, */
	parse_at_all_lengths(&terms,
			     "21e41c71 0000 0004 00*8 00*8 8000000000000001",
			     32, &request);
	assert_true(request.length == UINT64_C(0x8000000000000001));
	assert_int_equal(request.payload, 0);
	/* of the payload, */
	parse_at_all_lengths(&terms,
			     "21e41c71 0028 0007 00*8 00*8 0000000000000010",
			     32, &request);
	assert_int_equal(request.length, 0);
	assert_int_equal(request.payload, 16);
	/* or, of a WRITE as it may not be, of the range. */
	parse_at_all_lengths(&terms,
			     "21e41c71 0000 0001 00*8 00*8 0000000000000200",
			     32, &request);
	assert_int_equal(request.length, 512);
	assert_int_equal(request.payload, 0);
}

/* Wrong from the first four bytes on, for each form the other's as well. */
static void wrong_magic(void **state)
{
	static const char *const wrong[] = {
		"25609512", "25609514", "12560953", "00000000",
		"13956025", "67446698", "668e33ef",
	};
	struct proto_request request;
	uint8_t in[64];

	(void)state;
	for (int form = PROTO_SIMPLE; form <= PROTO_EXTENDED; form++) {
		struct proto_terms terms = terms_of((enum proto_replies)form);

		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			memset(in, 0, sizeof(in));
			bytes_of(wrong[i], in, sizeof(in));
			for (size_t n = 0; n <= sizeof(in); n++)
				assert_int_equal(proto_parse_request(&terms, in,
								     n,
								     &request),
						 n < 4 ? 0 : -EPROTO);
		}
		bytes_of(form == PROTO_EXTENDED ? "25609513" : "21e41c71", in,
			 sizeof(in));
		assert_int_equal(
			proto_parse_request(&terms, in, sizeof(in), &request),
			-EPROTO);
	}
}

/* --------------------------------------------------------------- checking */

static void check_at(const struct proto_terms *terms, uint64_t size,
		     uint16_t command, uint16_t flags, uint64_t off,
		     uint64_t len, uint64_t payload, int result)
{
	struct proto_request request = {
		.command = command,
		.flags = flags,
		.offset = off,
		.length = len,
		.payload = payload,
	};
	const char *text = NULL;
	int err = proto_check_request(terms, size, &request, &text);

	if (err != result)
		fail_msg("command %u flags %#x off %llu len %llu: %d (%s), not "
			 "%d",
			 command, flags, (unsigned long long)off,
			 (unsigned long long)len, err, text ? text : "",
			 result);
	if (err)
		assert_true(text && *text);
	assert_int_equal(request.payload, payload);
}

/* As a client of these terms would rightly send it. */
static void check(const struct proto_terms *terms, uint16_t command,
		  uint16_t flags, uint64_t off, uint64_t len, int result)
{
	bool payload = command == NBD_CMD_WRITE;

	if (payload && terms->replies == PROTO_EXTENDED)
		flags |= NBD_CMD_FLAG_PAYLOAD_LEN;
	check_at(terms, terms->size, command, flags, off, len,
		 payload ? len : 0, result);
}

static const uint16_t ranges[] = {
	NBD_CMD_READ,  NBD_CMD_WRITE,	     NBD_CMD_TRIM,
	NBD_CMD_CACHE, NBD_CMD_WRITE_ZEROES, NBD_CMD_BLOCK_STATUS,
};
#define RANGES (sizeof(ranges) / sizeof(ranges[0]))

static bool past_end_is_full(uint16_t command)
{
	return command == NBD_CMD_WRITE || command == NBD_CMD_WRITE_ZEROES;
}

static void check_ranges(void **state)
{
	(void)state;
	for (int form = PROTO_SIMPLE; form <= PROTO_EXTENDED; form++) {
		struct proto_terms terms = terms_of((enum proto_replies)form);

		for (size_t i = 0; i < RANGES; i++) {
			uint16_t command = ranges[i];
			int past = past_end_is_full(command) ? -ENOSPC
							     : -EINVAL;

			if (command == NBD_CMD_BLOCK_STATUS &&
			    form == PROTO_SIMPLE)
				continue;
			check(&terms, command, 0, 0, 1, 0);
			check(&terms, command, 0, 0, 4096, 0);
			check(&terms, command, 0, 0, MAX, 0);
			check(&terms, command, 0, GIB - 1, 1, 0);
			check(&terms, command, 0, GIB - 512, 512, 0);
			check(&terms, command, 0, 0, 0, -EINVAL);
			check(&terms, command, 0, GIB, 0, -EINVAL);
			check(&terms, command, 0, UINT64_MAX, 0, -EINVAL);
			check(&terms, command, 0, GIB, 1, past);
			check(&terms, command, 0, GIB - 1, 2, past);
			check(&terms, command, 0, GIB - 512, 513, past);
			check(&terms, command, 0, UINT64_MAX, 1, past);
			check(&terms, command, 0, UINT64_MAX - 4095, 4096,
			      past);
			check(&terms, command, 0, UINT64_MAX / 2 + 1, 4096,
			      past);
		}
	}
}

/* The size counts that the disk has now, not that of the handshake. */
static void check_grown(void **state)
{
	struct proto_terms terms = terms_of(PROTO_STRUCTURED);

	(void)state;
	check_at(&terms, 2 * GIB, NBD_CMD_READ, 0, GIB, 4096, 0, 0);
	check_at(&terms, 2 * GIB, NBD_CMD_WRITE, 0, GIB, 4096, 4096, 0);
	check_at(&terms, GIB / 2, NBD_CMD_READ, 0, GIB / 2, 1, 0, -EINVAL);
	check_at(&terms, GIB / 2, NBD_CMD_WRITE, 0, GIB / 2, 1, 1, -ENOSPC);
	check_at(&terms, INT64_MAX, NBD_CMD_READ, 0, INT64_MAX - 1, 1, 0, 0);
	check_at(&terms, INT64_MAX, NBD_CMD_READ, 0, INT64_MAX, 1, 0, -EINVAL);
}

static void check_long(void **state)
{
	struct proto_terms simple = terms_of(PROTO_SIMPLE);
	struct proto_terms structured = terms_of(PROTO_STRUCTURED);
	struct proto_terms extended = terms_of(PROTO_EXTENDED);

	(void)state;
	check(&simple, NBD_CMD_READ, 0, 0, MAX + 1, -EINVAL);
	check(&simple, NBD_CMD_READ, 0, 0, UINT32_MAX, -EINVAL);
	check(&structured, NBD_CMD_READ, NBD_CMD_FLAG_DF, 0, MAX, 0);
	check(&structured, NBD_CMD_READ, NBD_CMD_FLAG_DF, 0, MAX + 1,
	      -EOVERFLOW);
	check(&extended, NBD_CMD_READ, 0, 0, MAX + 1, -EINVAL);
	check(&extended, NBD_CMD_READ, 0, 0, UINT64_MAX, -EINVAL);
	/* In compact headers what comes is received and dropped, */
	check(&simple, NBD_CMD_WRITE, 0, 0, MAX + 1, -EINVAL);
	check(&simple, NBD_CMD_WRITE, 0, 0, UINT32_MAX, -EINVAL);
	/* in long ones not waited for, whatever the command. */
	check(&extended, NBD_CMD_WRITE, 0, 0, MAX + 1, -ECONNABORTED);
	check(&extended, NBD_CMD_WRITE, 0, 0, UINT64_MAX, -ECONNABORTED);
	check_at(&extended, GIB, NBD_CMD_READ, NBD_CMD_FLAG_PAYLOAD_LEN, 0, 0,
		 MAX + 1, -ECONNABORTED);
	check_at(&extended, GIB, 99, NBD_CMD_FLAG_PAYLOAD_LEN, 0, 0, MAX + 1,
		 -ECONNABORTED);
	check_at(&extended, GIB, 99, NBD_CMD_FLAG_PAYLOAD_LEN, 0, 0, MAX,
		 -EINVAL);
	/* Without a payload any length is fine. */
	check(&simple, NBD_CMD_TRIM, 0, 0, GIB, 0);
	check(&simple, NBD_CMD_WRITE_ZEROES, 0, 0, GIB, 0);
	check(&simple, NBD_CMD_CACHE, 0, 0, GIB, 0);
	check(&structured, NBD_CMD_BLOCK_STATUS, 0, 0, GIB, 0);
	extended.size = UINT64_C(1) << 50;
	check(&extended, NBD_CMD_TRIM, 0, 0, UINT64_C(1) << 50, 0);
	check(&extended, NBD_CMD_WRITE_ZEROES, NBD_CMD_FLAG_FAST_ZERO, 0,
	      UINT64_C(1) << 50, 0);
	check(&extended, NBD_CMD_BLOCK_STATUS, 0, 0, UINT64_C(1) << 50, 0);
}

static void check_alignment(void **state)
{
	struct proto_terms terms = terms_of(PROTO_STRUCTURED);

	(void)state;
	terms.block_min = 512;
	for (size_t i = 0; i < RANGES; i++) {
		check(&terms, ranges[i], 0, 512, 512, 0);
		check(&terms, ranges[i], 0, 512, 511, -EINVAL);
		check(&terms, ranges[i], 0, 511, 512, -EINVAL);
		check(&terms, ranges[i], 0, 256, 256, -EINVAL);
		check(&terms, ranges[i], 0, GIB - 1, 2, -EINVAL);
	}
}

/* Each command with each flag: which pairs are allowed, under each form. */
static void check_flags(void **state)
{
	static const struct {
		uint16_t command, flags;
	} allowed[] = {
		{NBD_CMD_READ, NBD_CMD_FLAG_FUA | NBD_CMD_FLAG_DF},
		{NBD_CMD_WRITE, NBD_CMD_FLAG_FUA},
		{NBD_CMD_FLUSH, NBD_CMD_FLAG_FUA},
		{NBD_CMD_TRIM, NBD_CMD_FLAG_FUA},
		{NBD_CMD_CACHE, NBD_CMD_FLAG_FUA},
		{NBD_CMD_WRITE_ZEROES, NBD_CMD_FLAG_FUA | NBD_CMD_FLAG_NO_HOLE |
					       NBD_CMD_FLAG_FAST_ZERO},
		{NBD_CMD_BLOCK_STATUS, NBD_CMD_FLAG_FUA | NBD_CMD_FLAG_REQ_ONE},
	};

	(void)state;
	for (int form = PROTO_STRUCTURED; form <= PROTO_EXTENDED; form++) {
		struct proto_terms terms = terms_of((enum proto_replies)form);

		for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]);
		     i++) {
			uint16_t command = allowed[i].command;
			uint64_t len = command == NBD_CMD_FLUSH ? 0 : 512;

			for (unsigned bit = 0; bit < 16; bit++) {
				uint16_t flag = (uint16_t)(1u << bit);

				/* Has a test of its own. */
				if (flag == NBD_CMD_FLAG_PAYLOAD_LEN)
					continue;
				check(&terms, command, flag, 0, len,
				      allowed[i].flags & flag ? 0 : -EINVAL);
			}
			check(&terms, command, allowed[i].flags, 0, len, 0);
		}
	}
}

/* Flags that were not offered. */
static void check_flags_not_offered(void **state)
{
	struct proto_terms terms = terms_of(PROTO_SIMPLE);

	(void)state;
	check(&terms, NBD_CMD_READ, NBD_CMD_FLAG_DF, 0, 512, -EINVAL);
	terms.flags &= (uint16_t)~NBD_FLAG_SEND_FUA;
	check(&terms, NBD_CMD_WRITE, NBD_CMD_FLAG_FUA, 0, 512, -EINVAL);
	terms.flags &= (uint16_t)~NBD_FLAG_SEND_FAST_ZERO;
	check(&terms, NBD_CMD_WRITE_ZEROES, NBD_CMD_FLAG_FAST_ZERO, 0, 512,
	      -EINVAL);
	check(&terms, NBD_CMD_WRITE_ZEROES, NBD_CMD_FLAG_NO_HOLE, 0, 512, 0);
	terms.flags = NBD_FLAG_HAS_FLAGS;
	check(&terms, NBD_CMD_FLUSH, 0, 0, 0, -EINVAL);
	check(&terms, NBD_CMD_TRIM, 0, 0, 512, -EINVAL);
	check(&terms, NBD_CMD_WRITE_ZEROES, 0, 0, 512, -EINVAL);
	check(&terms, NBD_CMD_CACHE, 0, 0, 512, -EINVAL);
	check(&terms, NBD_CMD_READ, 0, 0, 512, 0);
	check(&terms, NBD_CMD_WRITE, 0, 0, 512, 0);
}

static void check_payload_flag(void **state)
{
	struct proto_terms terms = terms_of(PROTO_EXTENDED);
	struct proto_terms structured = terms_of(PROTO_STRUCTURED);
	uint16_t flag = NBD_CMD_FLAG_PAYLOAD_LEN;

	(void)state;
	/* WRITE must have it, */
	check_at(&terms, GIB, NBD_CMD_WRITE, 0, 0, 512, 0, -EINVAL);
	check_at(&terms, GIB, NBD_CMD_WRITE, flag, 0, 512, 512, 0);
	check_at(&terms, GIB, NBD_CMD_WRITE, flag, 0, 0, 0, -EINVAL);
	check_at(&structured, GIB, NBD_CMD_WRITE, flag, 0, 512, 512, -EINVAL);
	/* BLOCK_STATUS may, */
	check_at(&terms, GIB, NBD_CMD_BLOCK_STATUS, flag, 0, 0, 12, 0);
	check_at(&terms, GIB, NBD_CMD_BLOCK_STATUS, flag, 0, 0, 16, 0);
	check_at(&structured, GIB, NBD_CMD_BLOCK_STATUS, flag, 0, 512, 0,
		 -EINVAL);
	terms.flags &= (uint16_t)~NBD_FLAG_BLOCK_STATUS_PAYLOAD;
	check_at(&terms, GIB, NBD_CMD_BLOCK_STATUS, flag, 0, 0, 12, -EINVAL);
	/* and the others may not. */
	check_at(&terms, GIB, NBD_CMD_READ, flag, 0, 0, 512, -EINVAL);
	check_at(&terms, GIB, NBD_CMD_TRIM, flag, 0, 0, 512, -EINVAL);
	check_at(&terms, GIB, NBD_CMD_CACHE, flag, 0, 0, 512, -EINVAL);
	check_at(&terms, GIB, NBD_CMD_FLUSH, flag, 0, 0, 512, -EINVAL);
	check_at(&terms, GIB, NBD_CMD_WRITE_ZEROES, flag, 0, 0, 512, -EINVAL);
}

static void check_readonly(void **state)
{
	struct proto_terms terms = terms_of(PROTO_STRUCTURED);

	(void)state;
	terms.flags = PROTO_FLAGS_READONLY | NBD_FLAG_HAS_FLAGS;
	check(&terms, NBD_CMD_WRITE, 0, 0, 512, -EPERM);
	check(&terms, NBD_CMD_WRITE, 0, 0, 0, -EPERM);
	check(&terms, NBD_CMD_WRITE, 0, GIB, 512, -EPERM);
	check(&terms, NBD_CMD_TRIM, 0, 0, 512, -EPERM);
	check(&terms, NBD_CMD_WRITE_ZEROES, 0, 0, 512, -EPERM);
	check(&terms, NBD_CMD_WRITE_ZEROES, 0, GIB, 512, -EPERM);
	check(&terms, NBD_CMD_READ, 0, 0, 512, 0);
	check(&terms, NBD_CMD_FLUSH, 0, 0, 0, 0);
	check(&terms, NBD_CMD_CACHE, 0, 0, 512, 0);
	check(&terms, NBD_CMD_BLOCK_STATUS, 0, 0, 512, 0);
}

static void check_others(void **state)
{
	struct proto_terms terms = terms_of(PROTO_STRUCTURED);

	(void)state;
	for (unsigned command = 8; command <= UINT16_MAX; command++)
		check(&terms, (uint16_t)command, 0, 0, 512, -EINVAL);
	check(&terms, NBD_CMD_FLUSH, 0, 0, 0, 0);
	check(&terms, NBD_CMD_FLUSH, 0, 1, 0, -EINVAL);
	check(&terms, NBD_CMD_FLUSH, 0, 0, 1, -EINVAL);
	/* There is nobody to complain to. */
	check(&terms, NBD_CMD_DISC, 0, 0, 0, 0);
	check(&terms, NBD_CMD_DISC, 0xffff, 1, 1, 0);
	terms.context_count = 0;
	check(&terms, NBD_CMD_BLOCK_STATUS, 0, 0, 512, -EINVAL);
}

/* ----------------------------------------------------------- block status */

static void contexts(void **state)
{
	struct proto_terms terms = terms_of(PROTO_STRUCTURED);
	struct proto_request request = {.command = NBD_CMD_BLOCK_STATUS,
					.length = 512};
	const char *text;

	(void)state;
	assert_int_equal(proto_check_request(&terms, GIB, &request, &text), 0);
	assert_int_equal(request.contexts, 3);
}

static void status_payload(void **state)
{
	static const struct {
		const char *payload;
		int result;
		uint32_t contexts;
	} cases[] = {
		{"0000000000000200 00000001", 0, 1},
		{"0000000000000200 00000007", 0, 2},
		{"0000000000000200 00000007 00000001", 0, 3},
		{"0000000040000000 00000001", 0, 1},
		/* Ids that are not, or not once. */
		{"0000000000000200 00000000", -EINVAL, 0},
		{"0000000000000200 00000002", -EINVAL, 0},
		{"0000000000000200 00000001 00000001", -EINVAL, 0},
		{"0000000000000200 00000001 00000008", -EINVAL, 0},
		/* Ranges that are none. */
		{"0000000000000000 00000001", -EINVAL, 0},
		{"0000000040000001 00000001", -EINVAL, 0},
		{"ffffffffffffffff 00000001", -EINVAL, 0},
		/* Not 8 + 4 n, or no context at all. */
		{"00", -EINVAL, 0},
		{"0000000000000200", -EINVAL, 0},
		{"0000000000000200 000000", -EINVAL, 0},
		{"0000000000000200 00000001 00", -EINVAL, 0},
		{"0000000000000200 00000001 00000007 00000001", -EINVAL, 0},
	};
	struct proto_terms terms = terms_of(PROTO_EXTENDED);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proto_request request = {
			.command = NBD_CMD_BLOCK_STATUS,
			.flags = NBD_CMD_FLAG_PAYLOAD_LEN,
		};
		uint8_t buf[64], *copy;
		const char *text = NULL;
		int err;

		request.payload = bytes_of(cases[i].payload, buf, sizeof(buf));
		copy = malloc(request.payload);
		assert_non_null(copy);
		memcpy(copy, buf, request.payload);
		err = proto_check_request(&terms, GIB, &request, &text);
		if (!err) {
			assert_true(request.payload <=
				    PROTO_STATUS_PAYLOAD_MAX);
			err = proto_parse_status(&terms, copy, GIB, &request,
						 &text);
		}
		free(copy);
		assert_int_equal(err, cases[i].result);
		if (err)
			assert_non_null(text);
		else
			assert_int_equal(request.contexts, cases[i].contexts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compact),
		cmocka_unit_test(extended),
		cmocka_unit_test(wrong_magic),
		cmocka_unit_test(check_ranges),
		cmocka_unit_test(check_grown),
		cmocka_unit_test(check_long),
		cmocka_unit_test(check_alignment),
		cmocka_unit_test(check_flags),
		cmocka_unit_test(check_flags_not_offered),
		cmocka_unit_test(check_payload_flag),
		cmocka_unit_test(check_readonly),
		cmocka_unit_test(check_others),
		cmocka_unit_test(contexts),
		cmocka_unit_test(status_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
