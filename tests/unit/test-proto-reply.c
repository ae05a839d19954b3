/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies: the bytes of each kind in each form, and errnos to numbers of the
 * wire. */
#include "unit/unit.h"

#include <errno.h>

#include "unit/talk.h"

#define COOKIE "c0ffee0123456789"

static const struct proto_terms simple = {.replies = PROTO_SIMPLE};
static const struct proto_terms structured = {.replies = PROTO_STRUCTURED};
static const struct proto_terms extended = {.replies = PROTO_EXTENDED};

/* A request with this command, from 0x10000 on, 0x3000 bytes. */
static struct proto_request request_of(uint16_t command)
{
	struct proto_request request = {
		.command = command,
		.offset = 0x10000,
		.length = 0x3000,
	};

	bytes_of(COOKIE, (uint8_t *)&request.cookie, 8);
	return request;
}

/* Nothing behind the length that is told has been written. */
static void expect(const uint8_t *buf, size_t len, const char *text)
{
	uint8_t want[PROTO_REPLY_MAX + 1];
	size_t want_len = bytes_of(text, want, sizeof(want));

	assert_true(len <= PROTO_REPLY_MAX);
	assert_int_equal(len, want_len);
	assert_memory_equal(buf, want, len);
	assert_int_equal(buf[len], 0xaa);
}

#define EXPECT(text, function, ...)                              \
	do {                                                     \
		uint8_t buf_[PROTO_REPLY_MAX + 1];               \
                                                                 \
		memset(buf_, 0xaa, sizeof(buf_));                \
		expect(buf_, function(__VA_ARGS__, buf_), text); \
	} while (0)

#define SIMPLE(error) "67446698" error COOKIE
#define STRUCTURED(flags, type, length) "668e33ef" flags type COOKIE length
#define EXTENDED(flags, type, length) \
	"6e8a278c" flags type COOKIE "0000000000010000 00000000" length

static void ack(void **state)
{
	static const uint16_t commands[] = {NBD_CMD_WRITE, NBD_CMD_FLUSH,
					    NBD_CMD_TRIM, NBD_CMD_CACHE,
					    NBD_CMD_WRITE_ZEROES};
	struct proto_request read = request_of(NBD_CMD_READ);

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct proto_request request = request_of(commands[i]);

		EXPECT(SIMPLE("00000000"), proto_put_ack, &simple, &request);
		EXPECT(SIMPLE("00000000"), proto_put_ack, &structured,
		       &request);
		EXPECT(EXTENDED("0001", "0000", "00000000"), proto_put_ack,
		       &extended, &request);
	}
	/* A READ may not be answered in short once it may be structured. */
	EXPECT(STRUCTURED("0001", "0000", "00000000"), proto_put_ack,
	       &structured, &read);
	EXPECT(STRUCTURED("0001", "0000", "00000000"), proto_put_done,
	       &structured, &read);
	EXPECT(EXTENDED("0001", "0000", "00000000"), proto_put_done, &extended,
	       &read);
}

static void error(void **state)
{
	struct proto_request request = request_of(NBD_CMD_WRITE);
	struct proto_request read = request_of(NBD_CMD_READ);

	(void)state;
	EXPECT(SIMPLE("0000001c"), proto_put_error, &simple, &request, -ENOSPC,
	       "full");
	EXPECT(SIMPLE("00000016"), proto_put_error, &simple, &read, -EINVAL,
	       NULL);
	EXPECT(STRUCTURED("0001", "8001", "0000000a") "0000001c 0004 'full'",
	       proto_put_error, &structured, &request, -ENOSPC, "full");
	EXPECT(STRUCTURED("0001", "8001", "00000006") "00000005 0000",
	       proto_put_error, &structured, &read, -EIO, NULL);
	EXPECT(EXTENDED("0001", "8001", "0000000a") "0000001c 0004 'full'",
	       proto_put_error, &extended, &request, -ENOSPC, "full");
}

static void error_at(void **state)
{
	struct proto_request request = request_of(NBD_CMD_READ);

	(void)state;
	EXPECT(STRUCTURED("0000", "8002",
			  "00000011") "00000005 0003 'bad' 0000000000011000",
	       proto_put_error_at, &structured, &request, -EIO, "bad", 0x11000,
	       false);
	EXPECT(EXTENDED("0001", "8002",
			"0000000e") "0000000c 0000 0000000000011000",
	       proto_put_error_at, &extended, &request, -ENOMEM, NULL, 0x11000,
	       true);
}

/* A long message is cut between characters, and fits into the buffer. */
static void long_text(void **state)
{
	struct proto_request request = request_of(NBD_CMD_READ);
	char text[600];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	EXPECT(STRUCTURED("0001", "8001", "00000105") "00000005 00ff 78*255",
	       proto_put_error, &structured, &request, -EIO, text);
	EXPECT(EXTENDED("0001", "8002",
			"0000010d") "00000005 00ff 78*255 0000000000010000",
	       proto_put_error_at, &extended, &request, -EIO, text, 0x10000,
	       true);
	memcpy(text + 253, "\xe2\x82\xac", 3);
	EXPECT(STRUCTURED("0001", "8001", "00000103") "00000005 00fd 78*253",
	       proto_put_error, &structured, &request, -EIO, text);
}

static void data(void **state)
{
	struct proto_request request = request_of(NBD_CMD_READ);

	(void)state;
	EXPECT(SIMPLE("00000000"), proto_put_data, &simple, &request, 0x3000,
	       0x10000, true);
	EXPECT(STRUCTURED("0001", "0001", "00003008") "0000000000010000",
	       proto_put_data, &structured, &request, 0x3000, 0x10000, true);
	EXPECT(STRUCTURED("0000", "0001", "00001008") "0000000000011000",
	       proto_put_data, &structured, &request, 0x1000, 0x11000, false);
	EXPECT(EXTENDED("0001", "0001", "00001008") "0000000000012000",
	       proto_put_data, &extended, &request, 0x1000, 0x12000, true);
	/* The largest that is announced: 64 MiB and the offset. */
	request.length = 0x4000000;
	EXPECT(STRUCTURED("0001", "0001", "04000008") "0000000000010000",
	       proto_put_data, &structured, &request, 0x4000000, 0x10000, true);
}

static void hole(void **state)
{
	struct proto_request request = request_of(NBD_CMD_READ);

	(void)state;
	EXPECT(STRUCTURED("0001", "0002",
			  "0000000c") "0000000000010000 00003000",
	       proto_put_hole, &structured, &request, 0x3000, 0x10000, true);
	EXPECT(EXTENDED("0000", "0002", "0000000c") "0000000000011000 00001000",
	       proto_put_hole, &extended, &request, 0x1000, 0x11000, false);
}

static void status(void **state)
{
	struct proto_request request = request_of(NBD_CMD_BLOCK_STATUS);
	struct proto_context context = {.id = 5, .kind = PROTO_ALLOCATION};

	(void)state;
	EXPECT(STRUCTURED("0000", "0005", "0000000c") "00000005",
	       proto_put_status, &structured, &request, &context, 1, false);
	EXPECT(STRUCTURED("0001", "0005", "00000024") "00000005",
	       proto_put_status, &structured, &request, &context, 4, true);
	EXPECT(STRUCTURED("0001", "0005", "00800004") "00000005",
	       proto_put_status, &structured, &request, &context,
	       PROTO_EXTENTS_MAX, true);
	EXPECT(EXTENDED("0000", "0006", "00000018") "00000005 00000001",
	       proto_put_status, &extended, &request, &context, 1, false);
	EXPECT(EXTENDED("0001", "0006", "00000048") "00000005 00000004",
	       proto_put_status, &extended, &request, &context, 4, true);
	EXPECT("00001000 00000003", proto_put_extent, &structured, 4096, 3);
	EXPECT("ffff0000 00000000", proto_put_extent, &structured,
	       proto_extent_max(&structured), 0);
	EXPECT("0000000000001000 0000000000000003", proto_put_extent, &extended,
	       4096, 3);
	EXPECT("7fffffffffff0000 0000000000000001", proto_put_extent, &extended,
	       proto_extent_max(&extended), 1);
}

/* The eight bytes come back as they came, whatever they are. */
static void cookies(void **state)
{
	struct proto_request request;
	uint8_t in[32], out[PROTO_REPLY_MAX];

	(void)state;
	for (unsigned value = 0; value < 256; value++) {
		bytes_of("25609513 0000 0003 00*8 00*8 00000000", in,
			 sizeof(in));
		memset(in + 8, (int)value, 8);
		in[8] ^= 0x80;
		assert_int_equal(
			proto_parse_request(&structured, in, 28, &request), 28);
		proto_put_ack(&structured, &request, out);
		assert_memory_equal(out + 8, in + 8, 8);
		proto_put_error(&structured, &request, -EIO, NULL, out);
		assert_memory_equal(out + 8, in + 8, 8);
	}
}

static void errors(void **state)
{
	static const struct {
		int err;
		uint32_t wire;
	} cases[] = {
		{0, 0},		  {EPERM, 1},	    {EACCES, 1},
		{EROFS, 1},	  {EIO, 5},	    {ENOMEM, 12},
		{EINVAL, 22},	  {ENOSPC, 28},	    {EDQUOT, 28},
		{EFBIG, 28},	  {EOVERFLOW, 75},  {ENOTSUP, 95},
		{EOPNOTSUPP, 95}, {ESHUTDOWN, 108}, {ENOENT, 5},
		{EAGAIN, 5},	  {ECONNRESET, 5},  {ETIMEDOUT, 5},
		{EBADF, 5},	  {12345, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(proto_error(cases[i].err), cases[i].wire);
		assert_int_equal(proto_error(-cases[i].err), cases[i].wire);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ack),	    cmocka_unit_test(error),
		cmocka_unit_test(error_at), cmocka_unit_test(long_text),
		cmocka_unit_test(data),	    cmocka_unit_test(hole),
		cmocka_unit_test(status),   cmocka_unit_test(cookies),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
