/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake but for exports, contexts and TLS: greeting, client flags, the
 * form of options and answers, LIST, ABORT, replies to come, unknown options. */
#include "unit/unit.h"

#include <stdio.h>

#include "unit/talk.h"

static const struct talk_setup plain;

static void greeting(void **state)
{
	(void)state;
	talk_check_all(&plain, "", GREETING, "");
	talk_check_all(&plain, "000000", GREETING, "");
	talk_check_all(&plain, "00000000", GREETING, "");
}

/* The two flags that were offered, in all combinations, and each other one. */
static void client_flags(void **state)
{
	static const char *const good[] = {"00000000", "00000001", "00000002",
					   "00000003"};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		talk_check_all(&plain, good[i], GREETING, "");
	for (unsigned bit = 2; bit < 32; bit++) {
		char flags[16];

		snprintf(flags, sizeof(flags), "%08x", 1u << bit | 1u);
		talk_check_all(&plain, flags, GREETING,
			       "HANGUP(client flags that nobody offered)");
	}
}

static void option_magic(void **state)
{
	const char *events = "HANGUP(no option where one should begin)";

	(void)state;
	talk_check(&plain, "49484156454f5055 00000003 00000000", "", events);
	talk_check(&plain, "00*16", "", events);
	/* A request of the transmission phase, too early. */
	talk_check(&plain, "25609513 0000 0000 00*8 00*8 00000200", "", events);
	/* The option before it is answered. */
	talk_check(&plain, OPTION("08", "00000000") "00*16", ACK("08"), events);
}

static void abort_is_answered(void **state)
{
	(void)state;
	talk_check(&plain, OPTION("02", "00000000"), ACK("02"), "ABORT");
	/* Data with it is not looked at. */
	talk_check(&plain, OPTION("02", "00000003") "'bye'", ACK("02"),
		   "ABORT");
	talk_check(&plain, OPTION("02", "00002000") "aa*8192", ACK("02"),
		   "ABORT");
	/* Nothing behind it is. */
	talk_check(&plain, OPTION("02", "00000000") OPTION("03", "00000000"),
		   ACK("02"), "ABORT");
	talk_check_all(&plain, "00000000" OPTION("02", "00000000"),
		       GREETING ACK("02"), "ABORT");
}

#define LISTED                                              \
	ANSWER("03", "00000002", "0000000e")                \
	"00000004 'disk' 'a disk'" ANSWER("03", "00000002", \
					  "00000006") "00000002 'ro'"

static void list(void **state)
{
	(void)state;
	talk_check(&plain, OPTION("03", "00000000"), LISTED ACK("03"), "LIST");
	talk_check(&plain, OPTION("03", "00000000") OPTION("03", "00000000"),
		   LISTED ACK("03") LISTED ACK("03"), "LIST LIST");
}

static void list_with_data(void **state)
{
	(void)state;
	talk_check(
		&plain,
		OPTION("03", "00000004") "'disk'" OPTION("03", "00000000"),
		ANSWER("03", "80000003",
		       "00000017") "'this option has no data'" LISTED ACK("03"),
		"LIST");
}

/* More than fits into the output at once, each entry whole and in order. */
static void list_of_many(void **state)
{
	static struct talk t;
	static uint8_t in[64], out[1 << 16];
	size_t at, len;

	(void)state;
	t.setup = (struct talk_setup){.list_count = 200};
	len = bytes_of("00000003" OPTION("03", "00000000"), in, sizeof(in));
	talk_feed(&t, in, len, len);
	assert_int_equal(t.last, PROTO_MORE);
	at = bytes_of(GREETING LISTED, out, sizeof(out));
	for (unsigned i = 0; i < 200; i++) {
		char text[256], name[16];
		int name_len = snprintf(name, sizeof(name), "more-%u", i);

		snprintf(text, sizeof(text),
			 ANSWER("03", "00000002", "%08x") "%08x '%s%s'",
			 4 + (unsigned)name_len + 11, (unsigned)name_len, name,
			 "one of many");
		at += bytes_of(text, out + at, sizeof(out) - at);
	}
	at += bytes_of(ACK("03"), out + at, sizeof(out) - at);
	assert_int_equal(t.out_len, at);
	assert_memory_equal(t.out, out, at);
	talk_end(&t);
}

static void replies(void **state)
{
	(void)state;
	talk_check(&plain, OPTION("08", "00000000"), ACK("08"), "");
	talk_check(&plain, OPTION("08", "00000000") OPTION("08", "00000000"),
		   ACK("08") ACK("08"), "");
	talk_check(&plain, OPTION("0b", "00000000"), ACK("0b"), "");
	talk_check(&plain, OPTION("08", "00000000") OPTION("0b", "00000000"),
		   ACK("08") ACK("0b"), "");
	talk_check(&plain, OPTION("0b", "00000000") OPTION("0b", "00000000"),
		   ACK("0b") ACK("0b"), "");
	/* There is no way back from the long headers. */
	talk_check(
		&plain, OPTION("0b", "00000000") OPTION("08", "00000000"),
		ACK("0b") ANSWER(
			"08", "8000000a",
			"00000027") "'extended headers were agreed on already'",
		"");
}

static void replies_with_data(void **state)
{
	(void)state;
	talk_check(&plain,
		   OPTION("08", "00000001") "00" OPTION("08", "00000000"),
		   ANSWER("08", "80000003",
			  "00000017") "'this option has no data'" ACK("08"),
		   "");
	talk_check(&plain,
		   OPTION("0b", "00000002") "0000" OPTION("0b", "00000000"),
		   ANSWER("0b", "80000003",
			  "00000017") "'this option has no data'" ACK("0b"),
		   "");
}

#define UNSUP "'this server does not know the option'"

static void unknown_options(void **state)
{
	(void)state;
	/* PEEK_EXPORT was withdrawn. */
	talk_check(&plain, OPTION("04", "00000000"),
		   ANSWER("04", "80000001", "00000024") UNSUP, "");
	talk_check(&plain, OPTION("00", "00000000"),
		   ANSWER("00", "80000001", "00000024") UNSUP, "");
	talk_check(&plain,
		   OPTION("0c", "00000005") "'hello'" OPTION("02", "00000000"),
		   ANSWER("0c", "80000001", "00000024") UNSUP ACK("02"),
		   "ABORT");
	talk_check(
		&plain,
		"49484156454f5054 ffffffff 00000008 00*8" OPTION("08",
								 "00000000"),
		" 0003e889045565a9 ffffffff 80000001 00000024 " UNSUP ACK("08"),
		"");
	/* More data than is ever kept. */
	talk_check(&plain,
		   OPTION("0c", "00004000") "00*16384" OPTION("08", "00000000"),
		   ANSWER("0c", "80000001", "00000024") UNSUP ACK("08"), "");
}

/* Clients that never heard of fixed newstyle: EXPORT_NAME is all there is. */
static void oldstyle_options(void **state)
{
	static const char *const options[] = {"03", "05", "06", "07", "08",
					      "09", "0a", "0b", "20"};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char in[256], out[512];

		snprintf(in, sizeof(in),
			 "00000000 49484156454f5054 000000%s 00000000" OPTION(
				 "02", "00000000"),
			 options[i]);
		snprintf(
			out, sizeof(out),
			GREETING
			"0003e889045565a9 000000%s 80000003 00000029"
			"'options need the fixed newstyle handshake'" ACK("02"),
			options[i]);
		talk_check_all(&plain, in, out, "ABORT");
	}
}

static void stopping(void **state)
{
	static const struct talk_setup setup = {.stopping = true};
	static const char *const options[] = {"03", "05", "06", "07", "08",
					      "09", "0a", "0b", "20"};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char in[256], out[512];

		snprintf(in, sizeof(in),
			 "49484156454f5054 000000%s 00000000" OPTION(
				 "02", "00000000"),
			 options[i]);
		snprintf(out, sizeof(out),
			 "0003e889045565a9 000000%s 80000007 0000001b"
			 "'the server is about to stop'" ACK("02"),
			 options[i]);
		talk_check(&setup, in, out, "ABORT");
	}
	talk_check(&setup, OPTION("01", "00000004") "'disk'", "",
		   "HANGUP(the server is about to stop)");
}

/* What is final stays so, and uses nothing. */
static void final_events(void **state)
{
	static const char *const ends[] = {
		OPTION("02", "00000000"),
		OPTION("01", "00000000"),
		"00*16",
	};
	static struct talk t;
	uint8_t in[64];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t len = bytes_of("00000003", in, sizeof(in)), used = 99;

		len += bytes_of(ends[i], in + len, sizeof(in) - len);
		t.setup = plain;
		talk_feed(&t, in, len, len);
		assert_true(t.last >= PROTO_READY);
		for (int again = 0; again < 3; again++) {
			assert_int_equal(
				proto_handshake_feed(t.h, in, len, &used),
				t.last);
			assert_int_equal(used, 0);
		}
		talk_end(&t);
	}
}

/* Answers that nobody waits for are not given. */
static void answers_unasked(void **state)
{
	static const struct proto_export export = {.size = 1, .block_min = 1};
	struct proto_handshake *h = proto_handshake_new(PROTO_TLS_OFF, false);
	size_t len;

	(void)state;
	assert_non_null(h);
	proto_handshake_found(h, &export);
	proto_handshake_refuse(h, NBD_REP_ERR_POLICY, "no");
	assert_int_equal(proto_handshake_list_item(h, "disk", NULL), 0);
	proto_handshake_list_end(h);
	assert_int_equal(proto_handshake_bitmap(h, "before"), 0);
	proto_handshake_bitmaps_end(h);
	proto_handshake_secured(h);
	proto_handshake_output(h, &len);
	assert_int_equal(len, 18);
	assert_string_equal(proto_handshake_reason(h), "");
	assert_null(proto_handshake_snapshot(h, 0));
	proto_handshake_free(h);
	proto_handshake_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greeting),
		cmocka_unit_test(client_flags),
		cmocka_unit_test(option_magic),
		cmocka_unit_test(abort_is_answered),
		cmocka_unit_test(list),
		cmocka_unit_test(list_with_data),
		cmocka_unit_test(list_of_many),
		cmocka_unit_test(replies),
		cmocka_unit_test(replies_with_data),
		cmocka_unit_test(unknown_options),
		cmocka_unit_test(oldstyle_options),
		cmocka_unit_test(stopping),
		cmocka_unit_test(final_events),
		cmocka_unit_test(answers_unasked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
