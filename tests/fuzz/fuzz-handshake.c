/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake, fed with anything. Whatever comes in:
 * - what goes out is a greeting and then, for each option that was whole, in
 *   their order, answers with right magics, numbers and lengths, the last one
 *   and no other being final;
 * - no input is used that is not there, nor while output waits, and one call
 *   gives a bounded amount of output;
 * - how the input is cut changes nothing.
 * The first byte says how the server is set up. */
#include "fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "proto.h"

const char fuzz_corpus[] = "handshake";

#define OUTPUT_MAX 1024u /* of one call */

struct outcome {
	uint8_t out[8 << 20];
	size_t out_len;
	size_t used;
	enum proto_event last;
	unsigned asked; /* events that the caller had to answer */
};

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* ---------------------------------------------------------------- a server */

static void take(struct proto_handshake *h, struct outcome *o)
{
	size_t len;
	const void *out = proto_handshake_output(h, &len);

	REQUIRE(len > 0 && len <= OUTPUT_MAX);
	REQUIRE(len <= sizeof(o->out) - o->out_len);
	memcpy(o->out + o->out_len, out, len);
	o->out_len += len;
	proto_handshake_sent(h, len);
}

/* By their first letters: which exports there are. */
static void answer_lookup(struct proto_handshake *h)
{
	const struct proto_lookup *lookup = proto_handshake_lookup(h);
	struct proto_export export = {
		.size = UINT64_C(1) << 40,
		.flags = PROTO_FLAGS_WRITABLE,
		.block_min = 1,
		.block_preferred = 4096,
		.payload_max = PROTO_PAYLOAD_MAX,
		.name = "disk",
		.description = "a disk",
	};

	REQUIRE(strlen(lookup->name) == lookup->name_len);
	REQUIRE(lookup->name_len <= PROTO_STRING_MAX);
	switch (lookup->name[0]) {
	case 0:
	case 'd':
		proto_handshake_found(h, &export);
		break;
	case 't':
		proto_handshake_refuse(h, NBD_REP_ERR_TLS_REQD, NULL);
		break;
	case 'p':
		proto_handshake_refuse(h, NBD_REP_ERR_POLICY, "not for you");
		break;
	default:
		proto_handshake_refuse(h, NBD_REP_ERR_UNKNOWN, NULL);
	}
}

static void answer_list(struct proto_handshake *h, struct outcome *o)
{
	static const char *const names[] = {"disk", "", "toolchain"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (proto_handshake_list_item(h, names[i], "text") == 0)
			continue;
		take(h, o);
		REQUIRE(!proto_handshake_list_item(h, names[i], "text"));
	}
	proto_handshake_list_end(h);
}

static void answer_bitmaps(struct proto_handshake *h, struct outcome *o)
{
	static const char *const names[] = {"before", "after", "1", "2", "3",
					    "4",      "5",     "6", "7", "8"};
	char name[PROTO_NAME_MAX + 1];
	unsigned asked = 0;
	uint32_t at = 0;

	while (proto_handshake_bitmap_asked(h, &at, name)) {
		REQUIRE(*name && strlen(name) <= PROTO_NAME_MAX);
		REQUIRE(++asked <= PROTO_STRING_MAX / 4);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (proto_handshake_bitmap(h, names[i]) >= 0)
			continue;
		take(h, o);
		REQUIRE(proto_handshake_bitmap(h, names[i]) >= 0);
	}
	proto_handshake_bitmaps_end(h);
}

/* False: it is over. */
static bool answer(struct proto_handshake *h, struct outcome *o)
{
	o->asked += o->last != PROTO_SEND;
	switch (o->last) {
	case PROTO_SEND:
		take(h, o);
		return true;
	case PROTO_STARTTLS:
		proto_handshake_secured(h);
		return true;
	case PROTO_LOOKUP:
		answer_lookup(h);
		return true;
	case PROTO_LIST:
		answer_list(h, o);
		return true;
	case PROTO_BITMAPS:
		answer_bitmaps(h, o);
		return true;
	case PROTO_HANGUP:
		REQUIRE(*proto_handshake_reason(h));
		return false;
	case PROTO_READY:
	case PROTO_ABORT:
		return false;
	default:
		abort();
	}
}

/* Feed all of it, cut by `random` (0: not cut). */
static void converse(uint8_t setup, const uint8_t *in, size_t n,
		     uint64_t random, struct outcome *o)
{
	struct proto_handshake *h =
		proto_handshake_new(setup % 3, setup & 4 && setup % 3);
	size_t end = random ? 0 : n;

	REQUIRE(h);
	o->out_len = o->used = o->asked = 0;
	if (setup & 8)
		proto_handshake_stop(h);
	for (;;) {
		size_t part = end - o->used, used, waiting;
		uint8_t *copy = malloc(part ? part : 1);

		REQUIRE(copy);
		if (part)
			memcpy(copy, in + o->used, part);
		proto_handshake_output(h, &waiting);
		o->last = proto_handshake_feed(h, copy, part, &used);
		free(copy);
		REQUIRE(used <= part);
		REQUIRE(!waiting || (used == 0 && o->last == PROTO_SEND));
		o->used += used;
		if (o->last != PROTO_MORE) {
			if (!answer(h, o))
				break;
			continue;
		}
		REQUIRE(used == part);
		if (end == n)
			break;
		end += 1 + fuzz_random(&random) % 40;
		end = end > n ? n : end;
	}
	proto_handshake_free(h);
}

/* ------------------------------------------------- is it valid NBD, and why */

/* One answer at p: its length, and whether it is the last for its option. */
static size_t check_answer(const uint8_t *p, size_t left, uint32_t option,
			   bool *final)
{
	uint32_t type, length;

	REQUIRE(left >= 20);
	REQUIRE(get_u32(p) == 0x0003e889 && get_u32(p + 4) == 0x045565a9);
	REQUIRE(get_u32(p + 8) == option);
	type = get_u32(p + 12);
	length = get_u32(p + 16);
	REQUIRE(length <= OUTPUT_MAX - 20 && length <= left - 20);
	*final = type == NBD_REP_ACK || type & NBD_REP_ERROR;
	switch (type) {
	case NBD_REP_ACK:
		REQUIRE(length == 0);
		break;
	case NBD_REP_SERVER:
		REQUIRE(option == NBD_OPT_LIST && length >= 4);
		REQUIRE(get_u32(p + 20) <= length - 4);
		break;
	case NBD_REP_INFO:
		REQUIRE(option == NBD_OPT_INFO || option == NBD_OPT_GO);
		REQUIRE(length >= 2 && p[20] == 0 && p[21] <= 3);
		REQUIRE(p[21] != NBD_INFO_EXPORT || length == 12);
		REQUIRE(p[21] != NBD_INFO_BLOCK_SIZE || length == 14);
		break;
	case NBD_REP_META_CONTEXT:
		REQUIRE(option == NBD_OPT_LIST_META_CONTEXT ||
			option == NBD_OPT_SET_META_CONTEXT);
		REQUIRE(length > 4);
		REQUIRE((get_u32(p + 20) == 0) ==
			(option == NBD_OPT_LIST_META_CONTEXT));
		break;
	default:
		REQUIRE(strncmp(proto_rep_name(type), "ERR_", 4) == 0);
		REQUIRE(!memchr(p + 20, 0, length));
	}
	return 20 + length;
}

/* All answers to one option. */
static size_t check_option(const uint8_t *p, size_t left, uint32_t option)
{
	size_t len = 0;
	bool final = false;

	while (!final)
		len += check_answer(p + len, left - len, option, &final);
	return len;
}

/* The answer to EXPORT_NAME, which has no header. */
static size_t check_export_name(const uint8_t *p, size_t left, uint32_t flags)
{
	size_t len = flags & NBD_FLAG_C_NO_ZEROES ? 10 : 134;

	REQUIRE(left == len);
	for (size_t i = 10; i < len; i++)
		REQUIRE(p[i] == 0);
	return len;
}

/* Walk what was said and what was answered side by side. */
static void check_outcome(const uint8_t *in, const struct outcome *o)
{
	static const uint8_t greeting[] = "NBDMAGICIHAVEOPT\0\3";
	size_t at = 4, out = 18;

	REQUIRE(o->out_len >= 18 && memcmp(o->out, greeting, 18) == 0);
	while (o->used >= 4 && o->used - at >= 16) {
		uint32_t option = get_u32(in + at + 8);
		uint32_t length = get_u32(in + at + 12);

		if (memcmp(in + at, "IHAVEOPT", 8) != 0) {
			REQUIRE(o->last == PROTO_HANGUP);
			break;
		}
		at += 16;
		if (option == NBD_OPT_EXPORT_NAME) {
			if (o->last == PROTO_READY)
				out += check_export_name(o->out + out,
							 o->out_len - out,
							 get_u32(in));
			break;
		}
		if (o->used - at < length)
			break;
		at += length;
		out += check_option(o->out + out, o->out_len - out, option);
	}
	REQUIRE(out == o->out_len);
	REQUIRE(o->last != PROTO_ABORT || o->used == at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome whole, cut;
	uint64_t hash = fuzz_hash(data, size);

	if (size < 1 || size > 16384)
		return 0;
	converse(data[0], data + 1, size - 1, 0, &whole);
	check_outcome(data + 1, &whole);
	for (int i = 0; i < 2; i++) {
		converse(data[0], data + 1, size - 1, hash + 2 * i, &cut);
		REQUIRE(cut.out_len == whole.out_len);
		REQUIRE(memcmp(cut.out, whole.out, cut.out_len) == 0);
		REQUIRE(cut.used == whole.used && cut.last == whole.last);
		REQUIRE(cut.asked == whole.asked);
	}
	return 0;
}
