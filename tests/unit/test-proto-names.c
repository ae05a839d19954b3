/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of the protocol, checked against the document a second time, and
 * their texts. */
#include "unit/unit.h"

#include <stdio.h>

#include "proto.h"

static void numbers(void **state)
{
	static const char *const options[] = {
		"unknown",
		"EXPORT_NAME",
		"ABORT",
		"LIST",
		"PEEK_EXPORT",
		"STARTTLS",
		"INFO",
		"GO",
		"STRUCTURED_REPLY",
		"LIST_META_CONTEXT",
		"SET_META_CONTEXT",
		"EXTENDED_HEADERS",
		"unknown",
	};
	static const char *const commands[] = {
		"READ",	 "WRITE",	 "DISC",	 "FLUSH",  "TRIM",
		"CACHE", "WRITE_ZEROES", "BLOCK_STATUS", "RESIZE", "unknown",
	};
	static const char *const reps[] = {
		"unknown",     "ERR_UNSUP",	      "ERR_POLICY",
		"ERR_INVALID", "ERR_PLATFORM",	      "ERR_TLS_REQD",
		"ERR_UNKNOWN", "ERR_SHUTDOWN",	      "ERR_BLOCK_SIZE_REQD",
		"ERR_TOO_BIG", "ERR_EXT_HEADER_REQD", "unknown",
	};

	(void)state;
	for (uint32_t i = 0; i < 13; i++)
		assert_string_equal(proto_option_name(i), options[i]);
	for (uint32_t i = 0; i < 10; i++)
		assert_string_equal(proto_command_name(i), commands[i]);
	for (uint32_t i = 0; i < 12; i++)
		assert_string_equal(proto_rep_name(UINT32_C(0x80000000) + i),
				    reps[i]);
	assert_string_equal(proto_rep_name(1), "ACK");
	assert_string_equal(proto_rep_name(2), "SERVER");
	assert_string_equal(proto_rep_name(3), "INFO");
	assert_string_equal(proto_rep_name(4), "META_CONTEXT");
	assert_string_equal(proto_info_name(0), "EXPORT");
	assert_string_equal(proto_info_name(3), "BLOCK_SIZE");
	assert_string_equal(proto_info_name(4), "unknown");
	assert_string_equal(proto_reply_type_name(0), "NONE");
	assert_string_equal(proto_reply_type_name(1), "OFFSET_DATA");
	assert_string_equal(proto_reply_type_name(2), "OFFSET_HOLE");
	assert_string_equal(proto_reply_type_name(5), "BLOCK_STATUS");
	assert_string_equal(proto_reply_type_name(6), "BLOCK_STATUS_EXT");
	assert_string_equal(proto_reply_type_name(0x8001), "ERROR");
	assert_string_equal(proto_reply_type_name(0x8002), "ERROR_OFFSET");
	assert_string_equal(proto_error_name(28), "ENOSPC");
	assert_string_equal(proto_error_name(108), "ESHUTDOWN");
	assert_string_equal(proto_error_name(2), "unknown");
	assert_string_equal(proto_event_name(PROTO_HANGUP), "HANGUP");
	assert_string_equal(proto_event_name((enum proto_event)99), "unknown");
	assert_string_equal(proto_replies_name(PROTO_EXTENDED), "extended");
	assert_string_equal(proto_replies_name((enum proto_replies)3),
			    "unknown");
}

static void flags(void **state)
{
	char buf[PROTO_FLAGS_TEXT_MAX];

	(void)state;
	assert_string_equal(proto_command_flags_text(0, buf, sizeof(buf)), "0");
	assert_string_equal(proto_command_flags_text(1, buf, sizeof(buf)),
			    "FUA");
	assert_string_equal(proto_command_flags_text(0x3f, buf, sizeof(buf)),
			    "FUA,NO_HOLE,DF,REQ_ONE,FAST_ZERO,PAYLOAD_LEN");
	assert_string_equal(proto_command_flags_text(0x8041, buf, sizeof(buf)),
			    "FUA,0x8040");
	assert_string_equal(
		proto_transmission_flags_text(0x1ded, buf, sizeof(buf)),
		"flags,flush,fua,trim,zeroes,df,multi-conn,cache,fast-zero,"
		"block-status-payload");
	assert_string_equal(proto_handshake_flags_text(3, buf, sizeof(buf)),
			    "fixed-newstyle,no-zeroes");
	/* Everything at once fits. */
	proto_transmission_flags_text(UINT32_MAX, buf, sizeof(buf));
	assert_non_null(strstr(buf, ",0xffffe000"));
	assert_true(strlen(buf) < sizeof(buf) - 1);
}

static void flags_cut(void **state)
{
	char buf[16];

	(void)state;
	for (size_t len = 1; len < sizeof(buf); len++) {
		memset(buf, '#', sizeof(buf));
		proto_command_flags_text(0xffff, buf, len);
		assert_int_equal(buf[len], '#');
		assert_true(strlen(buf) < len);
	}
	buf[0] = '#';
	assert_ptr_equal(proto_command_flags_text(1, buf, 0), buf);
	assert_int_equal(buf[0], '#');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(flags),
		cmocka_unit_test(flags_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
