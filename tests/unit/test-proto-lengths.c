/* SPDX-License-Identifier: BSD-3-Clause */
/* Options whose two lengths disagree: all pairs of a length of the option and a
 * length of the name in it. Exactly one answer comes, nothing beyond the data is
 * read, and a normal GO works afterwards. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit/talk.h"

static const uint32_t lengths[] = {
	0, 1, 5, 6, 255, 256, 4096, 4097, 65535, UINT32_C(1) << 31, UINT32_MAX,
};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

#define CHUNK ((size_t)1 << 20)

static struct talk t;

static void put_u32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* Say n bytes that are not kept anywhere in one piece: `first` at their head,
 * then letters. */
static void say_long(const uint8_t *first, size_t first_len, uint64_t n)
{
	static uint8_t letters[CHUNK];
	size_t now = n < first_len ? (size_t)n : first_len;

	if (!letters[0])
		memset(letters, 'x', sizeof(letters));
	t.used = 0;
	talk_feed(&t, first, now, now ? now : 1);
	for (n -= now; n > 0; n -= now) {
		now = n < CHUNK ? (size_t)n : CHUNK;
		t.used = 0;
		if (now < CHUNK) {
			talk_feed(&t, letters, now, now);
		} else if (n > CHUNK) {
			/* Gigabytes: without the copies that talk makes. */
			size_t used;

			assert_int_equal(
				proto_handshake_feed(t.h, letters, now, &used),
				PROTO_MORE);
			assert_int_equal(used, now);
		} else {
			talk_feed(&t, letters, now, now);
		}
	}
}

/* No pair is right here: what stands behind the name are letters, which are
 * too high as a number of requests or queries. So the answer is ERR_INVALID, or
 * ERR_TOO_BIG where the option is longer than any that could be right. */
static void one_pair(uint32_t option, uint32_t length, uint32_t name)
{
	uint8_t head[16], name_head[4], go[64], told[256];
	size_t len, before;
	uint32_t type;

	bytes_of("49484156454f5054 00*8", head, sizeof(head));
	put_u32(head + 8, option);
	put_u32(head + 12, length);
	put_u32(name_head, name);
	before = t.out_len;
	say_long(head, sizeof(head), sizeof(head));
	say_long(name_head, sizeof(name_head), length);
	/* One error, of this option, with a text of the length it says. */
	assert_true(t.out_len >= before + 20);
	assert_int_equal(get_u32(t.out + before + 8), option);
	type = get_u32(t.out + before + 12);
	if (length > 4096 + 64)
		assert_int_equal(type, NBD_REP_ERR_TOO_BIG);
	else
		assert_int_equal(type, NBD_REP_ERR_INVALID);
	assert_int_equal(t.out_len, before + 20 + get_u32(t.out + before + 16));
	/* Then one that is right. */
	before = t.out_len;
	len = bytes_of(OPTION("06", "0000000a") "00000004 'disk' 0000", go,
		       sizeof(go));
	say_long(go, len, len);
	len = bytes_of(
		ANSWER("06", "00000003",
		       "0000000c") "0000 0000000040000000 0ded" ACK("06"),
		told, sizeof(told));
	assert_int_equal(t.out_len, before + len);
	assert_memory_equal(t.out + before, told, len);
	t.events[0] = 0;
}

/* All of them on one connection, one after the other. */
static void all_pairs(uint32_t option)
{
	uint8_t hello[64];
	size_t len = bytes_of("00000003" OPTION("08", "00000000"), hello,
			      sizeof(hello));

	talk_end(&t);
	say_long(hello, len, len);
	for (size_t i = 0; i < LENGTHS; i++) {
		for (size_t j = 0; j < LENGTHS; j++)
			one_pair(option, lengths[i], lengths[j]);
	}
	talk_end(&t);
}

static void info(void **state)
{
	(void)state;
	all_pairs(NBD_OPT_INFO);
}

static void go(void **state)
{
	(void)state;
	all_pairs(NBD_OPT_GO);
}

static void list_meta_context(void **state)
{
	(void)state;
	all_pairs(NBD_OPT_LIST_META_CONTEXT);
}

static void set_meta_context(void **state)
{
	(void)state;
	all_pairs(NBD_OPT_SET_META_CONTEXT);
}

/* The name right, and one query in it of each length. */
static void queries(void **state)
{
	uint8_t in[64];
	size_t len;

	(void)state;
	len = bytes_of("00000003" OPTION("08", "00000000"), in, sizeof(in));
	talk_end(&t);
	say_long(in, len, len);
	for (size_t i = 0; i < LENGTHS; i++) {
		for (size_t j = 0; j < LENGTHS; j++) {
			size_t before = t.out_len;
			uint32_t type;

			len = bytes_of("49484156454f5054 0000000a 00000000"
				       "00000004 'disk' 00000001 00000000",
				       in, sizeof(in));
			put_u32(in + 12, lengths[i]);
			put_u32(in + len - 4, lengths[j]);
			say_long(in, 16, 16);
			say_long(in + 16, len - 16, lengths[i]);
			assert_true(t.out_len >= before + 20);
			type = get_u32(t.out + before + 12);
			/* 16 + j bytes are wanted. */
			if (lengths[i] > 4096 + 64)
				assert_int_equal(type, NBD_REP_ERR_TOO_BIG);
			else
				assert_int_equal(type, NBD_REP_ERR_INVALID);
			t.events[0] = 0;
		}
	}
	talk_end(&t);
}

/* Pairs that fit, at their limits: the name that fills its option. */
static void fitting(void **state)
{
	static const uint32_t names[] = {0, 1, 5, 6, 255, 256, 4095, 4096};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint8_t *in = malloc(5000);
		uint32_t name = names[i];

		assert_non_null(in);
		bytes_of("00000003 49484156454f5054 00000006 00000000", in, 64);
		put_u32(in + 16, 6 + name);
		put_u32(in + 20, name);
		memset(in + 24, 'n', name);
		memset(in + 24 + name, 0, 2);
		talk_end(&t);
		talk_feed(&t, in, 26 + name, 5000);
		assert_int_equal(t.last, PROTO_MORE);
		assert_int_equal(strncmp(t.events, "LOOKUP(INFO ", 12), 0);
		assert_int_equal(get_u32(t.out + 18 + 12),
				 name ? NBD_REP_ERR_UNKNOWN : NBD_REP_INFO);
		free(in);
	}
	talk_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(info),
		cmocka_unit_test(go),
		cmocka_unit_test(list_meta_context),
		cmocka_unit_test(set_meta_context),
		cmocka_unit_test(queries),
		cmocka_unit_test(fitting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
