/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's side of the handshake: what is sent, what is taken from servers of all
 * ages, and what is not. Each conversation is also cut at every byte. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "unit/talk.h"

#define HELLO "'NBDMAGIC' 'IHAVEOPT' 0003"
#define REPLY(option, type, length) \
	"0003e889045565a9 000000" option type "000000" length
#define ACK_OF(option) REPLY(option, "00000001", "00")
/* 1 MiB; flags, flush, FUA, trim. */
#define EXPORT(option) \
	REPLY(option, "00000003", "0c") "0000 0000000000100000 002d"
#define FLAGS "00000003"
#define INFOS "0003 0003 0001 0002"
#define GO_DISK "'IHAVEOPT' 00000007 00000010 00000004 'disk'" INFOS
#define INFO_DISK "'IHAVEOPT' 00000006 00000010 00000004 'disk'" INFOS
#define NAME_DISK "'IHAVEOPT' 00000001 00000004 'disk'"
#define BYE "'IHAVEOPT' 00000002 00000000"

static struct proto_client client;
static char events[400];
static uint8_t out[20000];
static size_t out_len;

static void note(const char *text)
{
	strcat(events, text);
}

static void take(void)
{
	size_t len;
	const void *sent = proto_client_output(&client, &len);

	assert_true(len <= sizeof(out) - out_len);
	memcpy(out + out_len, sent, len);
	out_len += len;
	proto_client_sent(&client);
	proto_client_output(&client, &len);
	assert_int_equal(len, 0);
}

/* True: it goes on. */
static bool heed(enum proto_client_event event)
{
	char text[400];

	switch (event) {
	case PROTO_CLIENT_MORE:
		return true;
	case PROTO_CLIENT_STARTTLS:
		assert_int_equal(proto_client_wants(&client), 0);
		note("STARTTLS ");
		proto_client_secured(&client);
		return true;
	case PROTO_CLIENT_READY:
		note(proto_client_terms(&client)->opened ? "OPEN" : "TOLD");
		return false;
	case PROTO_CLIENT_REFUSED:
		snprintf(text, sizeof(text), "%s: %s %s",
			 proto_option_name(
				 proto_client_refusal(&client)->option),
			 proto_rep_name(proto_client_refusal(&client)->rep),
			 proto_client_refusal(&client)->text);
		note(text);
		return false;
	case PROTO_CLIENT_BROKEN:
		note(proto_client_reason(&client));
		return false;
	}
	return false;
}

/* Feed at most `step` bytes at a time; returns how many were wanted of n. */
static size_t converse(const struct proto_client_wish *wish, const uint8_t *in,
		       size_t n, size_t step)
{
	size_t used = 0, some = 0;
	bool goes_on = true;

	*events = 0;
	out_len = 0;
	assert_true(proto_client_init(&client, wish));
	while (goes_on && used < n) {
		take();
		some = proto_client_wants(&client);
		assert_int_not_equal(some, 0);
		if (some > step)
			some = step;
		if (some > n - used)
			some = n - used;
		goes_on = heed(proto_client_feed(&client, in + used, some));
		used += some;
	}
	take();
	if (!goes_on)
		assert_int_equal(proto_client_wants(&client), 0);
	return used;
}

/* What comes in, what is sent, and how it ends; all of it must be wanted. */
static void check_wish(const struct proto_client_wish *wish, const char *in,
		       const char *sent, const char *end)
{
	static uint8_t bytes[20000], want[20000];
	size_t n = bytes_of(in, bytes, sizeof(bytes));
	size_t want_len = bytes_of(sent, want, sizeof(want));

	for (size_t step = 1; step <= n; step = step < 4 ? step + 1 : n + 1) {
		assert_int_equal(converse(wish, bytes, n, step), n);
		assert_string_equal(events, end);
		assert_int_equal(out_len, want_len);
		assert_memory_equal(out, want, want_len);
	}
	converse(wish, bytes, n, n);
	/* Cut anywhere, it waits for more and is sure of nothing. */
	for (size_t cut = 0; cut < n; cut++) {
		assert_int_equal(converse(wish, bytes, cut, n), cut);
		assert_true(proto_client_wants(&client) > 0);
	}
	assert_int_equal(converse(wish, bytes, n, n), n);
}

static const struct proto_client_wish open_disk = {.name = "disk",
						   .open = true};
static const struct proto_client_wish ask_disk = {.name = "disk"};
static const struct proto_client_wish tls_disk = {
	.name = "disk", .open = true, .tls = true};

static void opened(const char *in, const char *end)
{
	char all[9000];

	snprintf(all, sizeof(all), "%s %s", HELLO, in);
	check_wish(&open_disk, all, FLAGS GO_DISK, end);
}

/* ------------------------------------------------------------------- tests */

static void go(void **state)
{
	const struct proto_client_terms *t = proto_client_terms(&client);

	(void)state;
	opened(EXPORT("07") ACK_OF("07"), "OPEN");
	assert_int_equal(t->size, 1 << 20);
	assert_int_equal(t->flags, 0x2d);
	assert_false(t->block_size_told);
	assert_int_equal(t->block_min, 512);
	assert_int_equal(t->block_preferred, 4096);
	assert_int_equal(t->payload_max, 32 << 20);
	assert_string_equal(t->name, "");
	assert_string_equal(t->description, "");
}

static void all_infos(void **state)
{
	const struct proto_client_terms *t = proto_client_terms(&client);

	(void)state;
	opened(REPLY("07", "00000003", "06") "0001 'real'" REPLY(
		       "07", "00000003", "0e") "0003 00000001 00010000 04000000"
	       /* Unknown ones are passed over, an empty text is one. */
	       REPLY("07", "00000003", "03") "1234 99" REPLY(
		       "07", "00000003",
		       "02") "0002" REPLY("07", "00000003",
					  "09") "0002 'a disk?'" EXPORT("07")
		       ACK_OF("07"),
	       "OPEN");
	assert_true(t->block_size_told);
	assert_int_equal(t->block_min, 1);
	assert_int_equal(t->block_preferred, 65536);
	assert_int_equal(t->payload_max, 64 << 20);
	assert_string_equal(t->name, "real");
	assert_string_equal(t->description, "a disk?");
}

static void long_texts(void **state)
{
	(void)state;
	opened("0003e889045565a9 00000007 00000003 00001002 0002 "
	       "61*4096 " EXPORT("07") ACK_OF("07"),
	       "OPEN");
	assert_int_equal(strlen(proto_client_terms(&client)->description),
			 4096);
	opened("0003e889045565a9 00000007 00000003 00001003",
	       "the server's answer is too long");
}

static void many_infos(void **state)
{
	char in[9000] = "";

	(void)state;
	for (unsigned i = 0; i < PROTO_CLIENT_INFOS_MAX - 1; i++)
		strcat(in, REPLY("07", "00000003", "02") "1234 ");
	strcat(in, EXPORT("07") " ");
	strcat(in, ACK_OF("07"));
	opened(in, "OPEN");
	strcpy(strstr(in, EXPORT("07")), EXPORT("07") " ");
	strcat(in, EXPORT("07"));
	opened(in, "the server's answer has no end");
}

static void ask(void **state)
{
	(void)state;
	check_wish(&ask_disk, HELLO EXPORT("06") ACK_OF("06"),
		   FLAGS INFO_DISK BYE, "TOLD");
	check_wish(&ask_disk, HELLO REPLY("06", "80000006", "04") "'none'",
		   FLAGS INFO_DISK BYE, "INFO: ERR_UNKNOWN none");
}

static void session(void **state)
{
	const struct proto_session s = {
		.uuid = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe,
			 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10},
		.epoch = UINT64_MAX,
	};
	struct proto_client_wish wish = open_disk;
	char name[PROTO_STRING_MAX + 2];

	(void)state;
	wish.session = &s;
	check_wish(&wish, HELLO EXPORT("07") ACK_OF("07"),
		   FLAGS "'IHAVEOPT' 00000007 0000004c 00000040"
			 "'disk;s=01234567-89ab-cdef-fedc-ba9876543210."
			 "18446744073709551615'" INFOS,
		   "OPEN");
	wish.name = "a;b";
	assert_false(proto_client_init(&client, &wish));
	memset(name, 'x', sizeof(name));
	name[PROTO_STRING_MAX - 60] = 0;
	wish.name = name;
	assert_true(proto_client_init(&client, &wish));
	name[PROTO_STRING_MAX - 60] = 'x';
	name[PROTO_STRING_MAX - 59] = 0;
	assert_false(proto_client_init(&client, &wish));
	wish.session = NULL;
	name[PROTO_STRING_MAX - 59] = 'x';
	name[PROTO_STRING_MAX] = 0;
	assert_true(proto_client_init(&client, &wish));
	name[PROTO_STRING_MAX] = 'x';
	name[PROTO_STRING_MAX + 1] = 0;
	assert_false(proto_client_init(&client, &wish));
}

static void longest_name(void **state)
{
	static char name[PROTO_STRING_MAX + 1];
	const struct proto_client_wish wish = {.name = name, .open = true};

	(void)state;
	memset(name, 'n', PROTO_STRING_MAX);
	check_wish(&wish, HELLO EXPORT("07") ACK_OF("07"),
		   FLAGS "'IHAVEOPT' 00000007 0000100c 00001000 6e*4096 " INFOS,
		   "OPEN");
}

static void refusals(void **state)
{
	(void)state;
	check_wish(&open_disk, HELLO REPLY("07", "80000002", "00"),
		   FLAGS GO_DISK BYE, "GO: ERR_POLICY ");
	check_wish(&open_disk, HELLO REPLY("07", "80000005", "06") "'secure'",
		   FLAGS GO_DISK BYE, "GO: ERR_TLS_REQD secure");
	check_wish(&open_disk, HELLO REPLY("07", "8000ffff", "00"),
		   FLAGS GO_DISK BYE, "GO: unknown ");
	/* A long one is cut. */
	check_wish(
		&open_disk,
		HELLO "0003e889045565a9 00000007 80000002 00001000 41*4096 ",
		FLAGS GO_DISK BYE,
		"GO: ERR_POLICY "
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		"AAAAAAAAAAAAAA");
}

static void starttls(void **state)
{
	(void)state;
	check_wish(&tls_disk, HELLO ACK_OF("05") EXPORT("07") ACK_OF("07"),
		   FLAGS "'IHAVEOPT' 00000005 00000000" GO_DISK,
		   "STARTTLS OPEN");
	check_wish(&tls_disk, HELLO REPLY("05", "80000001", "00"),
		   FLAGS "'IHAVEOPT' 00000005 00000000" BYE,
		   "STARTTLS: ERR_UNSUP ");
	/* An answer to something that was asked in clear is none. */
	check_wish(&tls_disk, HELLO EXPORT("05"),
		   FLAGS "'IHAVEOPT' 00000005 00000000",
		   "the server's answer is none to the question");
	check_wish(&tls_disk, "'NBDMAGIC' 'IHAVEOPT' 0002", "",
		   "the server is too old for TLS");
}

/* Servers that know no GO, or no options at all. */
static void export_name(void **state)
{
	(void)state;
	check_wish(&open_disk,
		   HELLO REPLY("07", "80000001", "00") "0000000000001000 0003",
		   FLAGS GO_DISK NAME_DISK, "OPEN");
	assert_int_equal(proto_client_terms(&client)->size, 4096);
	assert_int_equal(proto_client_terms(&client)->flags, 3);
	check_wish(&ask_disk,
		   HELLO REPLY("06", "80000001", "03") "'eh?'"
						       "0000000000001000 0003",
		   FLAGS INFO_DISK NAME_DISK, "OPEN");
	check_wish(
		&open_disk,
		"'NBDMAGIC' 'IHAVEOPT' 0001" REPLY(
			"07", "80000001", "00") "0000000000001000 0003 00*124",
		"00000001" GO_DISK NAME_DISK, "OPEN");
	check_wish(&open_disk,
		   "'NBDMAGIC' 'IHAVEOPT' 0000 0000000000001000 0003 00*124",
		   "00000000" NAME_DISK, "OPEN");
	check_wish(&open_disk,
		   "'NBDMAGIC' 'IHAVEOPT' 0002 0000000000001000 0003",
		   "00000002" NAME_DISK, "OPEN");
}

static void no_nbd(void **state)
{
	(void)state;
	check_wish(&open_disk, "'HTTP/1.1'", "",
		   "an HTTP server answers there");
	check_wish(&open_disk, "'SSH-2.0-'", "", "an SSH server answers there");
	check_wish(&open_disk, "'220 smtp'", "",
		   "what answers there is no NBD server");
	check_wish(&open_disk, "'NBDMAGIC' 0042028186125300 0003", "",
		   "the server's greeting is no NBD");
	check_wish(&open_disk, "'NBDMAGIC' 0000420281861253 0000", "",
		   "the server speaks the oldstyle protocol, which has no "
		   "exports by name; a newer one is needed");
}

static void lies(void **state)
{
	(void)state;
	opened("0003e889045565a8 00000007 00000001 00000000",
	       "the server's answer is no NBD");
	opened("0003e889045565a9 00000006 00000001 00000000",
	       "the server answers what was not asked");
	opened(REPLY("07", "00000001", "01") "00",
	       "the server's answer has data that belongs to none");
	opened(ACK_OF("07"), "the server has not told the export's size");
	opened(REPLY("07", "00000002", "00"),
	       "the server's answer is none to the question");
	opened("0003e889045565a9 00000007 00000003 ffffffff",
	       "the server's answer is too long");
	opened(REPLY("07", "00000003", "00"),
	       "the server's answer is too short");
	opened(REPLY("07", "00000003", "01") "00",
	       "the server's answer is too short");
	opened(REPLY("07", "00000003", "0b") "0000 0000000000100000 00",
	       "the server tells of an export in the wrong length");
	opened(REPLY("07", "00000003", "0c") "0000 8000000000000000 0001",
	       "the server tells a size above 2^63");
	opened(REPLY("07", "00000003", "0c") "0000 0000000000100000 0004",
	       "the server tells flags that are none");
	opened(REPLY("07", "00000003", "05") "0001 610062",
	       "the server tells a text that is none");
}

static void block_sizes(void **state)
{
	static const struct {
		const char *sizes;
		bool good;
	} cases[] = {
		{"00000001 00000200 00000001", true},
		{"00010000 00010000 ffffffff", true},
		{"00000200 00001000 02000000", true},
		{"00000000 00001000 02000000", false},
		{"00000003 00001000 02000000", false},
		{"00020000 00020000 02000000", false},
		{"00000001 00000100 02000000", false},
		{"00000001 00001001 02000000", false},
		{"00001000 00000800 02000000", false},
		{"00001000 00001000 00000800", false},
		{"00001000 00001000 02000001", false},
		{"00000001 00000000 02000000", false},
	};
	char in[400];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(in, sizeof(in), "%s 0003 %s %s",
			 REPLY("07", "00000003", "0e"), cases[i].sizes,
			 cases[i].good ? EXPORT("07") ACK_OF("07") : "");
		opened(in, cases[i].good ? "OPEN"
					 : "the server tells block sizes that "
					   "make no sense");
	}
	opened(REPLY("07", "00000003", "0d") "0003 00000001 00001000 020000",
	       "the server tells block sizes of the wrong length");
}

static void farewell(void **state)
{
	uint8_t disc[PROTO_DISC_SIZE], want[PROTO_DISC_SIZE];

	(void)state;
	assert_int_equal(
		bytes_of("25609513 0000 0002 00*20", want, sizeof(want)),
		sizeof(want));
	proto_put_disc(disc);
	assert_memory_equal(disc, want, sizeof(want));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(go),		cmocka_unit_test(all_infos),
		cmocka_unit_test(long_texts),	cmocka_unit_test(many_infos),
		cmocka_unit_test(ask),		cmocka_unit_test(session),
		cmocka_unit_test(longest_name), cmocka_unit_test(refusals),
		cmocka_unit_test(starttls),	cmocka_unit_test(export_name),
		cmocka_unit_test(no_nbd),	cmocka_unit_test(lies),
		cmocka_unit_test(block_sizes),	cmocka_unit_test(farewell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
