/* SPDX-License-Identifier: BSD-3-Clause */
/* EXPORT_NAME, INFO and GO: what is told of an export, to whom, and how a
 * refusal leaves the stream in step. Sessions in names. */
#include "unit/unit.h"

#include <stdio.h>

#include "unit/talk.h"

static const struct talk_setup plain;

/* Transmission flags of "disk": HAS_FLAGS, FLUSH, FUA, TRIM, WRITE_ZEROES,
 * CAN_MULTI_CONN, CACHE, FAST_ZERO; with structured replies DF as well. */
#define GIB "0000000040000000"
#define TOLD(number) \
	ANSWER(number, "00000003", "0000000c") "0000 0000000040000000 0d6d"
#define TOLD_DF(number) \
	ANSWER(number, "00000003", "0000000c") "0000 0000000040000000 0ded"

#define UNKNOWN(number) ANSWER(number, "80000006", "00000000")

/* ------------------------------------------------------------ EXPORT_NAME */

static void export_name(void **state)
{
	(void)state;
	talk_check(&plain, OPTION("01", "00000004") "'disk'", GIB "0d6d",
		   "LOOKUP(EXPORT_NAME disk) READY");
	/* Clients that want the zeroes, or do not know that they may choose. */
	talk_check_all(&plain, "00000001" OPTION("01", "00000004") "'disk'",
		       GREETING GIB "0d6d 00*124",
		       "LOOKUP(EXPORT_NAME disk) READY");
	talk_check_all(&plain, "00000000" OPTION("01", "00000004") "'disk'",
		       GREETING GIB "0d6d 00*124",
		       "LOOKUP(EXPORT_NAME disk) READY");
	talk_check_all(&plain, "00000002" OPTION("01", "00000004") "'disk'",
		       GREETING GIB "0d6d", "LOOKUP(EXPORT_NAME disk) READY");
	talk_check(&plain, OPTION("01", "00000000"), GIB "0d6d",
		   "LOOKUP(EXPORT_NAME ) READY");
	talk_check(&plain,
		   OPTION("08", "00000000") OPTION("01", "00000002") "'ro'",
		   ACK("08") "0000000000001000 058f",
		   "LOOKUP(EXPORT_NAME ro) READY");
}

static void export_name_refused(void **state)
{
	const char *refused =
		"HANGUP(EXPORT_NAME of an export that is refused)";
	char events[128];

	(void)state;
	snprintf(events, sizeof(events), "LOOKUP(EXPORT_NAME none) %s",
		 refused);
	talk_check(&plain, OPTION("01", "00000004") "'none'", "", events);
	snprintf(events, sizeof(events), "LOOKUP(EXPORT_NAME busy) %s",
		 refused);
	talk_check(&plain, OPTION("01", "00000004") "'busy'", "", events);
	talk_check(&plain, OPTION("01", "00000003") "'a' 00 'b'", "",
		   "HANGUP(the name has a zero byte in it)");
	talk_check(&plain, OPTION("01", "00001001") "61*4097", "",
		   "HANGUP(the name is longer than 4096 bytes)");
	/* Too long to be kept: not waited for. */
	talk_check(&plain, OPTION("01", "00002000"), "",
		   "HANGUP(the option is too long)");
	talk_check(&plain,
		   OPTION("0b", "00000000") OPTION("01", "00000004") "'disk'",
		   ACK("0b"), "HANGUP(EXPORT_NAME after EXTENDED_HEADERS)");
}

/* -------------------------------------------------------------- INFO and GO */

static void go(void **state)
{
	(void)state;
	talk_check(&plain, OPTION("07", "0000000a") "00000004 'disk' 0000",
		   TOLD("07") ACK("07"), "LOOKUP(GO disk) READY");
	talk_check(&plain, OPTION("07", "00000006") "00000000 0000",
		   TOLD("07") ACK("07"), "LOOKUP(GO ) READY");
	talk_check(&plain, OPTION("07", "00000008") "00000002 'ro' 0000",
		   ANSWER("07", "00000003",
			  "0000000c") "0000 0000000000001000 050f" ACK("07"),
		   "LOOKUP(GO ro) READY");
	talk_check(&plain,
		   OPTION("08", "00000000")
			   OPTION("07", "0000000a") "00000004 'disk' 0000",
		   ACK("08") TOLD_DF("07") ACK("07"), "LOOKUP(GO disk) READY");
	talk_check(&plain,
		   OPTION("0b", "00000000")
			   OPTION("07", "0000000a") "00000004 'disk' 0000",
		   ACK("0b") TOLD_DF("07") ACK("07"), "LOOKUP(GO disk) READY");
	/* No zeroes follow even for those who did not say so. */
	talk_check_all(
		&plain,
		"00000001" OPTION("07", "0000000a") "00000004 'disk' 0000",
		GREETING TOLD("07") ACK("07"), "LOOKUP(GO disk) READY");
}

#define NAME_DISK(number) ANSWER(number, "00000003", "00000006") "0001 'disk'"
#define TEXT_DISK(number) ANSWER(number, "00000003", "00000008") "0002 'a disk'"
#define BLOCK(number)                          \
	ANSWER(number, "00000003", "0000000e") \
	"0003 00000001 00001000 04000000"

static void infos(void **state)
{
	(void)state;
	talk_check(&plain, OPTION("06", "0000000c") "00000004 'disk' 0001 0000",
		   TOLD("06") ACK("06"), "LOOKUP(INFO disk)");
	talk_check(&plain, OPTION("06", "0000000c") "00000004 'disk' 0001 0001",
		   TOLD("06") NAME_DISK("06") ACK("06"), "LOOKUP(INFO disk)");
	talk_check(&plain, OPTION("06", "0000000c") "00000004 'disk' 0001 0002",
		   TOLD("06") TEXT_DISK("06") ACK("06"), "LOOKUP(INFO disk)");
	talk_check(&plain, OPTION("06", "0000000c") "00000004 'disk' 0001 0003",
		   TOLD("06") BLOCK("06") ACK("06"), "LOOKUP(INFO disk)");
	/* All, in another order, one twice, and some that nobody knows. */
	talk_check(&plain,
		   OPTION("06", "0000001a") "00000004 'disk' 0008 0003 0001 "
					    "0002 0001 0000 0004 00ff ffff",
		   TOLD("06") NAME_DISK("06") TEXT_DISK("06") BLOCK("06")
			   ACK("06"),
		   "LOOKUP(INFO disk)");
	/* The default export has a name too. */
	talk_check(&plain, OPTION("06", "00000008") "00000000 0001 0001",
		   TOLD("06") NAME_DISK("06") ACK("06"), "LOOKUP(INFO )");
	/* Who has no description tells none; the name is as it was asked. */
	talk_check(&plain,
		   OPTION("06", "0000000c") "00000002 'ro' 0002 0001 0002",
		   ANSWER("06", "00000003",
			  "0000000c") "0000 0000000000001000 "
				      "050f" ANSWER("06", "00000003",
						    "00000004") "0001 "
								"'ro"
								"'" ACK("06"),
		   "LOOKUP(INFO ro)");
}

/* INFO as often as one likes, and GO tells the same. */
static void info_then_go(void **state)
{
	(void)state;
	talk_check(
		&plain,
		OPTION("06",
		       "0000000e") "00000004 'disk' 0002 0003 "
				   "0001" OPTION(
					   "06",
					   "00000006") "00000000 "
						       "0000" OPTION(
							       "07",
							       "000"
							       "000"
							       "0e") "00000004 "
								     "'disk' "
								     "0002 "
								     "0003 "
								     "0001",
		TOLD("06") NAME_DISK("06") BLOCK("06") ACK("06") TOLD("06")
			ACK("06") TOLD("07") NAME_DISK("07") BLOCK("07")
				ACK("07"),
		"LOOKUP(INFO disk) LOOKUP(INFO ) LOOKUP(GO disk) READY");
}

/* One error each, then the next option is understood. */
static void go_refused_stays_in_step(void **state)
{
	(void)state;
	talk_check(
		&plain,
		OPTION("07", "0000000a") "00000004 'none' 0000" OPTION(
			"07",
			"0"
			"0"
			"0"
			"0"
			"0"
			"0"
			"0"
			"a") "00000004 'busy' 0000" OPTION("06",
							   "0000000c") "0000000"
								       "6 "
								       "'secret"
								       "' "
								       "000"
								       "0" OPTION(
									       "03",
									       "00000000")
									       OPTION("07",
										      "0000000a") "00000004 'disk' 0000",
		UNKNOWN("07") ANSWER("07", "80000002",
				     "00000006") "'in use'" UNKNOWN("06")
			ANSWER("03", "00000002",
			       "0000000e") "00000004 'disk' 'a "
					   "disk'" ANSWER(
						   "03", "00000002",
						   "00000006") "00000002 "
							       "'ro'" ACK("03") TOLD(
								       "0"
								       "7")
								       ACK("0"
									   "7"),
		"LOOKUP(GO none) LOOKUP(GO busy) LOOKUP(INFO secret) LIST "
		"LOOKUP(GO disk) READY");
}

#define GOOD OPTION("06", "0000000a") "00000004 'disk' 0000"
#define GOOD_TOLD TOLD("06") ACK("06")

static void malformed(void **state)
{
	static const struct {
		const char *in;
		const char *text;
	} cases[] = {
		{OPTION("07", "00000000"), "the option is too short"},
		{OPTION("07", "00000005") "00000000 00",
		 "the option is too short"},
		{OPTION("07", "00000006") "00000001 0000",
		 "the name is longer than the option"},
		{OPTION("07", "00000006") "ffffffff 0000",
		 "the name is longer than the option"},
		{OPTION("07", "0000000a") "00000005 'disk' 0000",
		 "the name is longer than the option"},
		{OPTION("07", "0000000a") "00000003 'disk' 0000",
		 "the number of requests does not fit"},
		{OPTION("07", "0000000a") "00000004 'disk' 0001",
		 "the number of requests does not fit"},
		{OPTION("07", "0000000c") "00000004 'disk' 0000 0003",
		 "the number of requests does not fit"},
		{OPTION("07", "0000000c") "00000004 'disk' ffff 0003",
		 "the number of requests does not fit"},
		{OPTION("07", "0000000a") "00000004 'di' 00 'k' 0000",
		 "the name has a zero byte in it"},
		{OPTION("07", "00001007") "00001001 61*4097 0000",
		 "the name is longer than 4096 bytes"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char in[512], out[512];

		snprintf(in, sizeof(in), "%s " GOOD, cases[i].in);
		snprintf(out, sizeof(out),
			 ANSWER("07", "80000003", "%08zx") "'%s'" GOOD_TOLD,
			 strlen(cases[i].text), cases[i].text);
		talk_check(&plain, in, out, "LOOKUP(INFO disk)");
	}
	/* The longest option that is kept, and one byte more. */
	talk_check(
		&plain, OPTION("07", "00001040") "00*4160 " GOOD,
		ANSWER("07", "80000003", "00000023") "'the number of requests "
						     "does not fit'" GOOD_TOLD,
		"LOOKUP(INFO disk)");
	talk_check(&plain, OPTION("07", "00001041") "00*4161 " GOOD,
		   ANSWER("07", "80000009",
			  "00000016") "'the option is too long'" GOOD_TOLD,
		   "LOOKUP(INFO disk)");
	talk_check(&plain, OPTION("07", "00002000") "00*8192" GOOD,
		   ANSWER("07", "80000009",
			  "00000016") "'the option is too long'" GOOD_TOLD,
		   "LOOKUP(INFO disk)");
}

/* The longest name that there may be is asked for like any other. */
static void longest_name(void **state)
{
	static struct talk t;
	static uint8_t in[8192], out[256];
	size_t len, out_len;

	(void)state;
	len = bytes_of("00000003" OPTION(
			       "06", "00001008") "00001000 61*4096 0001 0001",
		       in, sizeof(in));
	talk_feed(&t, in, len, len);
	out_len = bytes_of(GREETING UNKNOWN("06"), out, sizeof(out));
	assert_int_equal(t.out_len, out_len);
	assert_memory_equal(t.out, out, out_len);
	assert_int_equal(strlen(t.events), sizeof("LOOKUP(INFO ) ") - 1 + 4096);
	talk_end(&t);
}

/* A description that is too long is cut between characters. */
static void long_description(void **state)
{
	static char text[1024], out[4096];
	struct talk_setup setup = {.description = text};

	(void)state;
	memset(text, 'x', 511);
	strcpy(text + 511, "\xc3\xa4 and more");
	snprintf(out, sizeof(out), "%s",
		 TOLD("06") ANSWER("06", "00000003",
				   "00000201") "0002 78*511" ACK("06"));
	talk_check(&setup, OPTION("06", "0000000c") "00000004 'disk' 0001 0002",
		   out, "LOOKUP(INFO disk)");
	strcpy(text + 510, "\xc3\xa4 and more");
	snprintf(out, sizeof(out), "%s",
		 TOLD("06") ANSWER("06", "00000003",
				   "00000202") "0002 78*510 c3a4" ACK("06"));
	talk_check(&setup, OPTION("06", "0000000c") "00000004 'disk' 0001 0002",
		   out, "LOOKUP(INFO disk)");
}

/* The caller takes its time. */
static void answered_later(void **state)
{
	static const struct talk_setup setup = {.unanswered = 3};

	(void)state;
	talk_check(
		&setup,
		OPTION("06", "0000000a") "00000004 'disk' 0000" OPTION(
			"03", "00000000")
			OPTION("07",
			       "0000000a") "00000004 'disk' 0000 25609513",
		TOLD("06") ACK("06") ANSWER(
			"03", "00000002",
			"0000000e") "00000004 'disk' 'a "
				    "disk'" ANSWER(
					    "03", "00000002",
					    "00000006") "00000002 'ro'" ACK("0"
									    "3")
					    TOLD("07") ACK("07"),
		"LOOKUP(INFO disk) LIST LOOKUP(GO disk) READY");
}

/* What is agreed on is in the terms, and requests that came along are left. */
static void terms(void **state)
{
	static struct talk t;
	const struct proto_terms *terms;
	uint8_t in[256];
	size_t len;

	(void)state;
	len = bytes_of("00000003" OPTION("0b", "00000000") OPTION(
			       "07", "0000000c") "00000004 'disk' 0001 0003"
						 "21e41c71",
		       in, sizeof(in));
	talk_feed(&t, in, len, len);
	assert_int_equal(t.last, PROTO_READY);
	assert_int_equal(t.used, len - 4);
	terms = proto_handshake_terms(t.h);
	assert_int_equal(terms->replies, PROTO_EXTENDED);
	assert_int_equal(terms->flags, 0x0ded);
	assert_int_equal(terms->size, 1 << 30);
	assert_int_equal(terms->block_min, 1);
	assert_int_equal(terms->block_preferred, 4096);
	assert_int_equal(terms->payload_max, 64 << 20);
	assert_true(terms->block_size_told);
	assert_false(terms->has_session);
	assert_int_equal(terms->context_count, 0);
	talk_end(&t);

	len = bytes_of("00000000" OPTION("01", "00000002") "'ro' 25609513", in,
		       sizeof(in));
	talk_feed(&t, in, len, len);
	assert_int_equal(t.last, PROTO_READY);
	assert_int_equal(t.used, len - 4);
	terms = proto_handshake_terms(t.h);
	assert_int_equal(terms->replies, PROTO_SIMPLE);
	assert_int_equal(terms->flags, 0x050f);
	assert_int_equal(terms->size, 4096);
	assert_false(terms->block_size_told);
	talk_end(&t);
}

/* Flags that hang on what was not negotiated are never told, whatever the
 * caller says. */
static void flags_are_consistent(void **state)
{
	struct proto_export export = {
		.size = 1,
		.block_min = 1,
		.block_preferred = 512,
		.payload_max = 512,
		.flags = NBD_FLAG_SEND_DF | NBD_FLAG_BLOCK_STATUS_PAYLOAD |
			 NBD_FLAG_SEND_FAST_ZERO | NBD_FLAG_ROTATIONAL,
	};
	struct proto_handshake *h = proto_handshake_new(PROTO_TLS_OFF, false);
	uint8_t in[64];
	size_t len, used;

	(void)state;
	assert_non_null(h);
	proto_handshake_sent(h, 18);
	len = bytes_of("00000003" OPTION("07", "00000007") "00000001 'x' 0000",
		       in, sizeof(in));
	assert_int_equal(proto_handshake_feed(h, in, len, &used), PROTO_LOOKUP);
	proto_handshake_found(h, &export);
	assert_int_equal(proto_handshake_terms(h)->flags, 0x0011);
	proto_handshake_free(h);
}

/* ---------------------------------------------------------------- sessions */

#define UUID "'01234567-89ab-cdef-0011-2233445566FF'"
#define PLAIN "0123456789abcdef00112233445566ff"

static void sessions(void **state)
{
	(void)state;
	talk_check(&plain,
		   OPTION("07", "00000034") "0000002e 'disk;s='" UUID
					    "'.17' 0000",
		   TOLD("07") ACK("07"), "LOOKUP(GO disk " PLAIN ".17) READY");
	talk_check(&plain,
		   OPTION("06", "00000032") "0000002a ';s='" UUID
					    "'.00' 0001 0001",
		   TOLD("06") NAME_DISK("06") ACK("06"),
		   "LOOKUP(INFO  " PLAIN ".0)");
	talk_check(&plain,
		   OPTION("01", "00000040") "'disk;s='" UUID
					    "'.18446744073709551615'",
		   GIB "0d6d",
		   "LOOKUP(EXPORT_NAME disk " PLAIN
		   ".18446744073709551615) READY");
	/* Found or not is told as for any name. */
	talk_check(&plain,
		   OPTION("07", "00000033") "0000002d 'none;s='" UUID
					    "'.1' 0000",
		   UNKNOWN("07"), "LOOKUP(GO none " PLAIN ".1)");
}

static void malformed_sessions(void **state)
{
	static const char *const names[] = {
		";",
		"disk;",
		"disk;s=",
		"disk;s",
		"disk;x=01234567-89ab-cdef-0011-2233445566ff.1",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff.",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff.-1",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff.+1",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff.1 ",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff.1;",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff.0x1",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff."
		"18446744073709551616",
		"disk;s=01234567-89ab-cdef-0011-2233445566ff."
		"99999999999999999999",
		"disk;s=01234567-89ab-cdef-0011-2233445566f.1",
		"disk;s=01234567-89ab-cdef-0011-2233445566fff.1",
		"disk;s=01234567-89ab-cdef-0011-2233445566fg.1",
		"disk;s=0123456789abcdef00112233445566ff.1",
		"disk;s=01234567-89ab-cdef-00112-233445566ff.1",
		"disk;s={01234567-89ab-cdef-0011-2233445566ff}.1",
		"disk;S=01234567-89ab-cdef-0011-2233445566ff.1",
		"di;s=01234567-89ab-cdef-0011-2233445566ff.1;s="
		"01234567-89ab-cdef-0011-2233445566ff.1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);
		char in[512];

		snprintf(in, sizeof(in),
			 OPTION("07", "%08zx") "%08zx '%s' 0000" GOOD, len + 6,
			 len, names[i]);
		talk_check(&plain, in,
			   ANSWER("07", "80000003",
				  "00000026") "'what follows the ; is not "
					      "s=UUID.EPOCH'" GOOD_TOLD,
			   "LOOKUP(INFO disk)");
		snprintf(in, sizeof(in), OPTION("01", "%08zx") "'%s'", len,
			 names[i]);
		talk_check(&plain, in, "",
			   "HANGUP(what follows the ; is not s=UUID.EPOCH)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(export_name),
		cmocka_unit_test(export_name_refused),
		cmocka_unit_test(go),
		cmocka_unit_test(infos),
		cmocka_unit_test(info_then_go),
		cmocka_unit_test(go_refused_stays_in_step),
		cmocka_unit_test(malformed),
		cmocka_unit_test(longest_name),
		cmocka_unit_test(long_description),
		cmocka_unit_test(answered_later),
		cmocka_unit_test(terms),
		cmocka_unit_test(flags_are_consistent),
		cmocka_unit_test(sessions),
		cmocka_unit_test(malformed_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
