/* SPDX-License-Identifier: BSD-3-Clause */
/* LIST_META_CONTEXT and SET_META_CONTEXT: which queries find what, what is in
 * the terms afterwards, and malformed ones. */
#include "unit/unit.h"

#include <stdio.h>

#include "unit/talk.h"

static const struct talk_setup plain;

#define STRUCTURED OPTION("08", "00000000")
#define EXTENDED OPTION("0b", "00000000")
#define GO_DISK OPTION("07", "0000000a") "00000004 'disk' 0000"

/* Answers, with the context's number. */
#define ALLOCATION(option, id) \
	ANSWER(option, "00000004", "00000013") id "'base:allocation'"
#define DEPTH(option, id) \
	ANSWER(option, "00000004", "00000019") id "'qemu:allocation-depth'"
#define BEFORE(option, id) \
	ANSWER(option, "00000004", "0000001c") id "'qemu:dirty-bitmap:before'"
#define AFTER(option, id) \
	ANSWER(option, "00000004", "0000001b") id "'qemu:dirty-bitmap:after'"
#define NO_ID "00000000"

/* Queries. */
#define Q_ALLOCATION "0000000f 'base:allocation'"      /* 19 bytes */
#define Q_DEPTH "00000015 'qemu:allocation-depth'"     /* 25 */
#define Q_BEFORE "00000018 'qemu:dirty-bitmap:before'" /* 28 */
#define Q_AFTER "00000017 'qemu:dirty-bitmap:after'"   /* 27 */
#define Q_BASE "00000005 'base:'"		       /* 9 */
#define Q_QEMU "00000005 'qemu:'"		       /* 9 */
#define Q_BITMAPS "00000012 'qemu:dirty-bitmap:'"      /* 22 */

#define LOOKED "LOOKUP(LIST_META_CONTEXT disk)"

/* ------------------------------------------------------------------- LIST */

static void list_all(void **state)
{
	(void)state;
	talk_check(
		&plain,
		STRUCTURED OPTION("09", "0000000c") "00000004 'disk' 00000000",
		ACK("08") ALLOCATION("09", NO_ID) DEPTH("09", NO_ID)
			BEFORE("09", NO_ID) AFTER("09", NO_ID) ACK("09"),
		LOOKED " BITMAPS");
	talk_check(&plain,
		   EXTENDED OPTION("09", "00000008") "00000000 00000000",
		   ACK("0b") ALLOCATION("09", NO_ID) DEPTH("09", NO_ID)
			   BEFORE("09", NO_ID) AFTER("09", NO_ID) ACK("09"),
		   "LOOKUP(LIST_META_CONTEXT ) BITMAPS");
}

static void list_families(void **state)
{
	(void)state;
	talk_check(&plain,
		   STRUCTURED OPTION(
			   "09", "00000015") "00000004 'disk' 00000001" Q_BASE,
		   ACK("08") ALLOCATION("09", NO_ID) ACK("09"), LOOKED);
	talk_check(&plain,
		   STRUCTURED OPTION(
			   "09", "00000015") "00000004 'disk' 00000001" Q_QEMU,
		   ACK("08") DEPTH("09", NO_ID) BEFORE("09", NO_ID)
			   AFTER("09", NO_ID) ACK("09"),
		   LOOKED " BITMAPS");
	talk_check(
		&plain,
		STRUCTURED OPTION(
			"09", "00000022") "00000004 'disk' 00000001" Q_BITMAPS,
		ACK("08") BEFORE("09", NO_ID) AFTER("09", NO_ID) ACK("09"),
		LOOKED " BITMAPS");
	talk_check(&plain,
		   STRUCTURED OPTION(
			   "09", "00000044") "00000004 'disk' 00000002" Q_BEFORE
					     "00000018"
					     "'qemu:dirty-bitmap:nobody'",
		   ACK("08") BEFORE("09", NO_ID) ACK("09"), LOOKED " BITMAPS");
}

/* Nothing is selected by looking. */
static void list_selects_nothing(void **state)
{
	static struct talk t;
	uint8_t in[256];
	size_t len;

	(void)state;
	len = bytes_of(
		"00000003" STRUCTURED OPTION(
			"09", "0000000c") "00000004 'disk' 00000000" GO_DISK,
		in, sizeof(in));
	talk_feed(&t, in, len, len);
	assert_int_equal(t.last, PROTO_READY);
	assert_int_equal(proto_handshake_terms(t.h)->context_count, 0);
	talk_end(&t);
}

/* --------------------------------------------------------------------- SET */

#define SET "LOOKUP(SET_META_CONTEXT disk)"

static void set(void **state)
{
	(void)state;
	talk_check(&plain,
		   STRUCTURED OPTION(
			   "0a",
			   "0000001f") "00000004 'disk' 00000001" Q_ALLOCATION,
		   ACK("08") ALLOCATION("0a", "00000001") ACK("0a"), SET);
	talk_check(&plain,
		   STRUCTURED OPTION(
			   "0a", "0000006f") "00000004 'disk' 00000004" Q_AFTER
			   Q_ALLOCATION Q_BEFORE Q_DEPTH,
		   ACK("08") ALLOCATION("0a", "00000001")
			   DEPTH("0a", "00000002") BEFORE("0a", "00000003")
				   AFTER("0a", "00000004") ACK("0a"),
		   SET " BITMAPS");
	/* Asked for twice, given once. */
	talk_check(&plain,
		   STRUCTURED OPTION(
			   "0a",
			   "0000006a") "00000004 'disk' 00000004" Q_ALLOCATION
			   Q_BEFORE Q_ALLOCATION Q_BEFORE,
		   ACK("08") ALLOCATION("0a", "00000001")
			   BEFORE("0a", "00000002") ACK("0a"),
		   SET " BITMAPS");
	talk_check(
		&plain,
		STRUCTURED OPTION("0a", "0000000c") "00000004 'disk' 00000000",
		ACK("08") ACK("0a"), SET);
}

/* Families select nothing here, nor does what nobody knows. */
static void set_nothing(void **state)
{
	static const struct {
		const char *query;
		bool asks; /* whether snapshots are looked at */
	} cases[] = {
		{"base:", false},
		{"qemu:", false},
		{"qemu:dirty-bitmap:", true},
		{"base:nothing", false},
		{"base:allocatio", false},
		{"base:allocation2", false},
		{"BASE:allocation", false},
		{"qemu:allocation-depth ", false},
		{"qemu:dirty-bitmap:befor", true},
		{"qemu:dirty-bitmap:before2", true},
		{"x-other:thing", false},
		{"nocolon", false},
		{":", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].query);
		char in[512];

		snprintf(in, sizeof(in),
			 STRUCTURED OPTION(
				 "0a",
				 "%08zx") "00000004 'disk' 00000001 %08zx '%s'",
			 16 + len, len, cases[i].query);
		talk_check(&plain, in, ACK("08") ACK("0a"),
			   cases[i].asks ? SET " BITMAPS" : SET);
	}
}

static void set_refused(void **state)
{
	(void)state;
	talk_check(&plain,
		   STRUCTURED OPTION(
			   "0a",
			   "0000001f") "00000004 'none' 00000001" Q_ALLOCATION
			   OPTION("0a", "0000001f") "00000004 'busy' "
						    "00000001" Q_ALLOCATION,
		   ACK("08") ANSWER("0a", "80000006", "00000000")
			   ANSWER("0a", "80000002", "00000006") "'in use'",
		   "LOOKUP(SET_META_CONTEXT none) "
		   "LOOKUP(SET_META_CONTEXT busy)");
	/* Not without replies that could carry it. */
	talk_check(&plain,
		   OPTION("0a", "0000000c") "00000004 'disk' 00000000" OPTION(
			   "09", "0000000c") "00000004 'disk' 00000000",
		   ANSWER("0a", "80000003",
			  "00000020") "'contexts need structured "
				      "replies'" ANSWER("09", "80000003",
							"00000020") "'contexts "
								    "need "
								    "structured"
								    " replies'",
		   "");
}

/* ------------------------------------------------------------------- terms */

/* What the conversation ends with: kinds and numbers of the contexts. */
static void check_terms(const char *text, const char *kinds, uint16_t flags)
{
	static struct talk t;
	static uint8_t in[1 << 14];
	const struct proto_terms *terms;
	size_t len = bytes_of(text, in, sizeof(in));

	talk_end(&t);
	talk_feed(&t, in, len, len);
	assert_int_equal(t.last, PROTO_READY);
	terms = proto_handshake_terms(t.h);
	assert_int_equal(terms->flags, flags);
	assert_int_equal(terms->context_count, strlen(kinds));
	for (unsigned i = 0; i < terms->context_count; i++) {
		const char *name = proto_handshake_snapshot(t.h, i);

		assert_int_equal(terms->contexts[i].id, i + 1);
		switch (kinds[i]) {
		case 'a':
			assert_int_equal(terms->contexts[i].kind,
					 PROTO_ALLOCATION);
			assert_null(name);
			break;
		case 'd':
			assert_int_equal(terms->contexts[i].kind, PROTO_DEPTH);
			assert_null(name);
			break;
		default:
			assert_int_equal(terms->contexts[i].kind, PROTO_BITMAP);
			assert_string_equal(name, kinds[i] == 'B' ? "before"
								  : "after");
		}
	}
	assert_null(proto_handshake_snapshot(t.h, terms->context_count));
	talk_end(&t);
}

#define SET_ALLOCATION \
	OPTION("0a", "0000001f") "00000004 'disk' 00000001" Q_ALLOCATION
#define SET_BITMAPS \
	OPTION("0a", "00000043") "00000004 'disk' 00000002" Q_BEFORE Q_AFTER

static void terms(void **state)
{
	(void)state;
	check_terms("00000003" STRUCTURED SET_ALLOCATION GO_DISK, "a", 0x0ded);
	check_terms("00000003" EXTENDED SET_ALLOCATION GO_DISK, "a", 0x1ded);
	check_terms("00000003" EXTENDED GO_DISK, "", 0x0ded);
	check_terms("00000003" STRUCTURED SET_BITMAPS GO_DISK, "BA", 0x0ded);
	check_terms("00000003" EXTENDED OPTION(
			    "0a", "0000006f") "00000004 'disk' 00000004" Q_AFTER
			    Q_ALLOCATION Q_BEFORE Q_DEPTH GO_DISK,
		    "adBA", 0x1ded);
	/* The last one counts. */
	check_terms("00000003" STRUCTURED SET_BITMAPS SET_ALLOCATION GO_DISK,
		    "a", 0x0ded);
	check_terms("00000003" STRUCTURED SET_ALLOCATION SET_BITMAPS GO_DISK,
		    "BA", 0x0ded);
	/* LIST and INFO in between do not change it, nor a GO that fails. */
	check_terms("00000003" STRUCTURED SET_ALLOCATION OPTION(
			    "09",
			    "0000000c") "00000004 'disk' "
					"00000000" OPTION(
						"06",
						"00000"
						"008") "00000002 'ro' "
						       "0000" OPTION(
							       "07",
							       "0000000"
							       "a") "00"
								    "00"
								    "00"
								    "04"
								    " "
								    "'n"
								    "on"
								    "e'"
								    " "
								    "00"
								    "0"
								    "0" GO_DISK,
		    "a", 0x0ded);
	check_terms("00000003" STRUCTURED SET_ALLOCATION OPTION(
			    "01", "00000004") "'disk'",
		    "a", 0x0ded);
	/* A session is no other name. */
	check_terms("00000003" STRUCTURED SET_ALLOCATION OPTION(
			    "07", "00000033") "0000002d 'disk;s="
					      "01234567-89ab-cdef-0011-"
					      "2233445566FF.1' 0000",
		    "a", 0x0ded);
}

/* A failed SET leaves none, and so does the name of another export. */
static void terms_without(void **state)
{
	(void)state;
	check_terms(
		"00000003" EXTENDED SET_ALLOCATION OPTION(
			"0a", "0000000c") "00000004 'none' 00000000" GO_DISK,
		"", 0x0ded);
	check_terms(
		"00000003" EXTENDED SET_ALLOCATION OPTION(
			"0a", "0000000c") "00000005 'disk' 00000000" GO_DISK,
		"", 0x0ded);
	check_terms("00000003" EXTENDED SET_ALLOCATION OPTION("0a", "00000000")
			    GO_DISK,
		    "", 0x0ded);
	check_terms("00000003" EXTENDED SET_ALLOCATION OPTION(
			    "0a", "00002000") "00*8192" GO_DISK,
		    "", 0x0ded);
	check_terms(
		"00000003" EXTENDED SET_ALLOCATION OPTION(
			"0a", "0000000c") "00000004 'disk' 00000000" GO_DISK,
		"", 0x0ded);
	check_terms("00000003" STRUCTURED SET_ALLOCATION OPTION(
			    "07", "00000008") "00000002 'ro' 0000",
		    "", 0x058f);
	check_terms("00000003" STRUCTURED SET_ALLOCATION OPTION(
			    "07", "00000006") "00000000 0000",
		    "", 0x0ded);
}

/* ---------------------------------------------------------------- too many */

/* Many snapshots: the list comes in as many pieces as it takes. */
static void list_many(void **state)
{
	static struct talk t;
	static uint8_t in[64], out[1 << 16];
	size_t len, at;

	(void)state;
	t.setup = (struct talk_setup){.snapshot_count = 300};
	len = bytes_of("00000003" STRUCTURED OPTION(
			       "09", "00000008") "00000000 00000000",
		       in, sizeof(in));
	talk_feed(&t, in, len, len);
	assert_int_equal(t.last, PROTO_MORE);
	at = bytes_of(GREETING ACK("08") ALLOCATION("09", NO_ID)
			      DEPTH("09", NO_ID) BEFORE("09", NO_ID)
				      AFTER("09", NO_ID),
		      out, sizeof(out));
	for (unsigned i = 0; i < 300; i++) {
		char name[64], text[256];

		snprintf(name, sizeof(name), "qemu:dirty-bitmap:snapshot-%u",
			 i);
		snprintf(text, sizeof(text),
			 ANSWER("09", "00000004", "%08zx") NO_ID "'%s'",
			 4 + strlen(name), name);
		at += bytes_of(text, out + at, sizeof(out) - at);
	}
	at += bytes_of(ACK("09"), out + at, sizeof(out) - at);
	assert_int_equal(t.out_len, at);
	assert_memory_equal(t.out, out, at);
	talk_end(&t);
}

/* Eight contexts may be selected, the ninth is too much: none is. */
static void set_many(void **state)
{
	static struct talk t;
	static uint8_t in[1024];

	(void)state;
	for (unsigned count = 7; count <= 9; count++) {
		char text[2048];
		size_t len, at;
		unsigned length = 12 + 19;

		for (unsigned i = 0; i < count - 1; i++)
			length += 4 + 18 + 10;
		at = (size_t)snprintf(
			text, sizeof(text),
			"00000003" STRUCTURED OPTION(
				"0a",
				"%08x") "00000004 'disk' %08x" Q_ALLOCATION,
			length, count);
		for (unsigned i = 0; i < count - 1; i++)
			at += (size_t)snprintf(
				text + at, sizeof(text) - at,
				" 0000001c 'qemu:dirty-bitmap:snapshot-%u'", i);
		snprintf(text + at, sizeof(text) - at, GO_DISK);
		len = bytes_of(text, in, sizeof(in));
		t.setup = (struct talk_setup){.snapshot_count = 20};
		talk_feed(&t, in, len, len);
		assert_int_equal(t.last, PROTO_READY);
		assert_int_equal(proto_handshake_terms(t.h)->context_count,
				 count <= 8 ? count : 0);
		if (count == 8)
			assert_string_equal(proto_handshake_snapshot(t.h, 7),
					    "snapshot-6");
		if (count == 9) {
			uint8_t error[64];
			size_t error_len =
				bytes_of(ANSWER("0a", "80000009",
						"00000019") "'too many "
							    "contexts at once'",
					 error, sizeof(error));

			assert_non_null(
				memmem(t.out, t.out_len, error, error_len));
		}
		talk_end(&t);
	}
}

/* The longest name of a snapshot, and one byte more. */
static void long_snapshot(void **state)
{
	static char name[300], in[2048], out[2048];
	struct talk_setup setup = {.only_snapshot = name};

	(void)state;
	memset(name, 'n', 255);
	snprintf(in, sizeof(in),
		 STRUCTURED OPTION("0a",
				   "00000121") "00000004 'disk' 00000001 "
					       "00000111 'qemu:dirty-bitmap:'"
					       "6e*255");
	snprintf(out, sizeof(out),
		 ACK("08") ANSWER("0a", "00000004",
				  "00000115") "00000001 'qemu:dirty-bitmap:' "
					      "6e*255" ACK("0a"));
	talk_check(&setup, in, out, SET " BITMAPS");
	memset(name, 'n', 256);
	talk_check(&setup,
		   STRUCTURED OPTION("0a",
				     "00000122") "00000004 'disk' 00000001 "
						 "00000112 'qemu:dirty-bitmap:'"
						 "6e*256",
		   ACK("08") ACK("0a"), SET " BITMAPS");
}

/* --------------------------------------------------------------- malformed */

static void malformed(void **state)
{
	static const struct {
		const char *in; /* length and data */
		const char *text;
	} cases[] = {
		{"00000000", "the option is too short"},
		{"00000007 00*7", "the option is too short"},
		{"00000008 00000001 00000000",
		 "the name is longer than the option"},
		{"00000008 ffffffff 00000000",
		 "the name is longer than the option"},
		{"0000000c 00000005 'disk' 00000000",
		 "the name is longer than the option"},
		{"0000000c 00000004 'disk' 00000001",
		 "there are fewer queries than announced"},
		{"0000000c 00000004 'disk' ffffffff",
		 "there are fewer queries than announced"},
		{"0000000f 00000004 'disk' 00000001 000000",
		 "there are fewer queries than announced"},
		{"00000010 00000004 'disk' 00000001 00000001",
		 "a query is longer than the option"},
		{"00000010 00000004 'disk' 00000001 ffffffff",
		 "a query is longer than the option"},
		{"00000014 00000004 'disk' 00000001 fffffffc 'base'",
		 "a query is longer than the option"},
		{"00000015 00000004 'disk' 00000002 00000005 'base:'",
		 "there are fewer queries than announced"},
		{"00000015 00000004 'disk' 00000001 00000005 'base' 00",
		 "a query is no string"},
		{"0000100d 00000000 00000001 00001001 62*4097",
		 "a query is no string"},
		{"0000000d 00000004 'disk' 00000000 00",
		 "something follows the queries"},
		{"00000016 00000004 'disk' 00000001 00000005 'base:' 00",
		 "something follows the queries"},
		{"0000000c 00000004 'd' 00 'sk' 00000000",
		 "the name has a zero byte in it"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char in[512], out[512];

		/* Both options, and the stream stays in step. */
		snprintf(in, sizeof(in),
			 STRUCTURED "49484156454f5054 00000009 %s "
				    "49484156454f5054 0000000a %s " STRUCTURED,
			 cases[i].in, cases[i].in);
		snprintf(
			out, sizeof(out),
			ACK("08")
				ANSWER("09", "80000003", "%08zx") "'%s'" ANSWER(
					"0a", "80000003",
					"%08zx") "'%s'" ACK("08"),
			strlen(cases[i].text), cases[i].text,
			strlen(cases[i].text), cases[i].text);
		talk_check(&plain, in, out, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_all),
		cmocka_unit_test(list_families),
		cmocka_unit_test(list_selects_nothing),
		cmocka_unit_test(set),
		cmocka_unit_test(set_nothing),
		cmocka_unit_test(set_refused),
		cmocka_unit_test(terms),
		cmocka_unit_test(terms_without),
		cmocka_unit_test(list_many),
		cmocka_unit_test(set_many),
		cmocka_unit_test(long_snapshot),
		cmocka_unit_test(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
