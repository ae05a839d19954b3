/* SPDX-License-Identifier: BSD-3-Clause */
/* STARTTLS and the three ways to have TLS: off, on, required. */
#include "unit/unit.h"

#include <stdio.h>

#include "unit/talk.h"

static const struct talk_setup off = {.tls = PROTO_TLS_OFF};
static const struct talk_setup on = {.tls = PROTO_TLS_ON};
static const struct talk_setup require = {.tls = PROTO_TLS_REQUIRE};

#define STARTTLS OPTION("05", "00000000")
#define GO_DISK OPTION("07", "0000000a") "00000004 'disk' 0000"
#define GO_SECRET OPTION("07", "0000000c") "00000006 'secret' 0000"
#define GO_NONE OPTION("07", "0000000a") "00000004 'none' 0000"
#define TOLD_DISK \
	ANSWER("07", "00000003", "0000000c") "0000 0000000040000000 0d6d"
#define TOLD_SECRET \
	ANSWER("07", "00000003", "0000000c") "0000 0000000000000200 0d6d"
#define TLS_REQD(number) ANSWER(number, "80000005", "00000000")
#define UNKNOWN(number) ANSWER(number, "80000006", "00000000")
#define HAS_IT "'TLS is there already'"

/* ERR_POLICY, and never ERR_TLS_REQD. */
static void tls_off(void **state)
{
	(void)state;
	talk_check(&off, STARTTLS GO_SECRET GO_DISK,
		   ANSWER("05", "80000002",
			  "0000001e") "'this server has no TLS for "
				      "you'" UNKNOWN("07") TOLD_DISK ACK("07"),
		   "LOOKUP(GO secret) LOOKUP(GO disk) READY");
}

static void tls_on(void **state)
{
	(void)state;
	talk_check(&on, STARTTLS GO_SECRET, ACK("05") TOLD_SECRET ACK("07"),
		   "STARTTLS LOOKUP(GO secret)* READY");
	/* In clear some exports are there and others are not. */
	talk_check(&on, GO_SECRET GO_DISK, TLS_REQD("07") TOLD_DISK ACK("07"),
		   "LOOKUP(GO secret) LOOKUP(GO disk) READY");
	talk_check(&on, GO_SECRET STARTTLS GO_NONE GO_SECRET,
		   TLS_REQD("07") ACK("05") UNKNOWN("07") TOLD_SECRET ACK("07"),
		   "LOOKUP(GO secret) STARTTLS LOOKUP(GO none)* "
		   "LOOKUP(GO secret)* READY");
	talk_check(&on, OPTION("06", "0000000c") "00000006 'secret' 0000",
		   TLS_REQD("06"), "LOOKUP(INFO secret)");
	talk_check(&on, OPTION("01", "00000006") "'secret'", "",
		   "LOOKUP(EXPORT_NAME secret) "
		   "HANGUP(EXPORT_NAME of an export that is refused)");
	/* Options about contexts may not say ERR_TLS_REQD. */
	talk_check(&on,
		   OPTION("08", "00000000") OPTION(
			   "09", "0000000e") "00000006 'secret' 00000000",
		   ACK("08") UNKNOWN("09"), "LOOKUP(LIST_META_CONTEXT secret)");
}

static void twice(void **state)
{
	(void)state;
	talk_check(&on, STARTTLS STARTTLS GO_DISK,
		   ACK("05") ANSWER("05", "80000003", "00000014")
			   HAS_IT TOLD_DISK ACK("07"),
		   "STARTTLS LOOKUP(GO disk)* READY");
	talk_check(&require, STARTTLS STARTTLS,
		   ACK("05") ANSWER("05", "80000003", "00000014") HAS_IT,
		   "STARTTLS");
}

static void secured_from_the_start(void **state)
{
	struct talk_setup setup = {.tls = PROTO_TLS_REQUIRE, .secured = true};

	(void)state;
	talk_check(&setup, STARTTLS GO_SECRET,
		   ANSWER("05", "80000003", "00000014")
			   HAS_IT TOLD_SECRET ACK("07"),
		   "LOOKUP(GO secret)* READY");
}

static void with_data(void **state)
{
	(void)state;
	talk_check(&on, OPTION("05", "00000001") "00" GO_DISK,
		   ANSWER("05", "80000003",
			  "00000017") "'this option has no data'" TOLD_DISK
			   ACK("07"),
		   "LOOKUP(GO disk) READY");
	talk_check(&require, OPTION("05", "00000001") "00" STARTTLS,
		   ANSWER("05", "80000003",
			  "00000017") "'this option has no data'" ACK("05"),
		   "STARTTLS");
}

/* Every option but STARTTLS and ABORT, known or not, with data or without. */
static void required(void **state)
{
	static const char *const options[] = {"00", "03", "04", "06", "07",
					      "08", "09", "0a", "0b", "20"};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char in[256], out[512];

		snprintf(in, sizeof(in),
			 "49484156454f5054 000000%s 00000000"
			 "49484156454f5054 000000%s 0000000a 00000004 'disk' "
			 "0000" STARTTLS GO_DISK,
			 options[i], options[i]);
		snprintf(out, sizeof(out),
			 "0003e889045565a9 000000%s 80000005 0000001e"
			 "'TLS comes first on this server'"
			 "0003e889045565a9 000000%s 80000005 0000001e"
			 "'TLS comes first on this server'" ACK("05")
				 TOLD_DISK ACK("07"),
			 options[i], options[i]);
		talk_check(&require, in, out,
			   "STARTTLS LOOKUP(GO disk)* READY");
	}
	talk_check(&require, OPTION("01", "00000004") "'disk'", "",
		   "HANGUP(TLS comes first on this server)");
	talk_check(&require, OPTION("02", "00000000"), ACK("02"), "ABORT");
	/* Not even a client that cannot know of TLS gets in. */
	talk_check_all(&require, "00000000" OPTION("01", "00000004") "'disk'",
		       GREETING, "HANGUP(TLS comes first on this server)");
	talk_check_all(&require, "00000000" STARTTLS,
		       GREETING ANSWER("05", "80000003",
				       "00000029") "'options need the fixed "
						   "newstyle handshake'",
		       "");
	/* Inside of TLS it is a server like any other. */
	talk_check(&require, STARTTLS GO_NONE OPTION("01", "00000004") "'disk'",
		   ACK("05") UNKNOWN("07") "0000000040000000 0d6d",
		   "STARTTLS LOOKUP(GO none)* LOOKUP(EXPORT_NAME disk)* READY");
}

/* What was agreed in clear is void: replies, contexts. Flags are kept, since
 * they are said once only. */
static void forgotten(void **state)
{
	static struct talk t;
	uint8_t in[512];
	size_t len;

	(void)state;
	talk_check(&on,
		   OPTION("0b", "00000000") STARTTLS OPTION("08", "00000000")
			   GO_DISK,
		   ACK("0b") ACK("05") ACK("08") ANSWER(
			   "07", "00000003",
			   "0000000c") "0000 0000000040000000 0ded" ACK("07"),
		   "STARTTLS LOOKUP(GO disk)* READY");
	talk_check(&on, OPTION("08", "00000000") STARTTLS GO_DISK,
		   ACK("08") ACK("05") TOLD_DISK ACK("07"),
		   "STARTTLS LOOKUP(GO disk)* READY");
	t.setup = on;
	len = bytes_of(
		"00000003" OPTION("0b", "00000000") OPTION(
			"0a", "0000001f") "00000004 'disk' 00000001"
					  "0000000f 'base:allocation'" STARTTLS
						  OPTION("0b", "00000000")
							  GO_DISK,
		in, sizeof(in));
	talk_feed(&t, in, len, len);
	assert_int_equal(t.last, PROTO_READY);
	assert_int_equal(proto_handshake_terms(t.h)->context_count, 0);
	assert_int_equal(proto_handshake_terms(t.h)->flags, 0x0ded);
	talk_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tls_off),
		cmocka_unit_test(tls_on),
		cmocka_unit_test(twice),
		cmocka_unit_test(secured_from_the_start),
		cmocka_unit_test(with_data),
		cmocka_unit_test(required),
		cmocka_unit_test(forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
