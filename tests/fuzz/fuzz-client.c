/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's handshake with a server that may say anything. Whatever comes:
 * - what goes out is the answer to the greeting and then whole options, each of which
 *   the server has had the chance to answer before the next one;
 * - it wants a bounded number of bytes at a time, and nothing after its end;
 * - what it believes in the end is possible: sizes, block sizes, texts;
 * - under TLS nothing but STARTTLS is said or believed in clear;
 * - how the input is cut changes nothing.
 * The first byte says what the client wishes for. */
#include "fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "client.h"

const char fuzz_corpus[] = "client";

#define OPEN 1u
#define TLS 2u
#define SESSION 4u
#define OUT_MAX (1u << 16)

struct outcome {
	uint8_t out[OUT_MAX];
	size_t out_len, used;
	enum proto_client_event last;
	bool secured;
	struct proto_client client;
};

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* ------------------------------------------------------------------ judging */

/* One option at p, of which len bytes are there: its number. *n: its length. */
static uint32_t judge_option(const uint8_t *p, size_t len, size_t *n)
{
	REQUIRE(len >= 16 && memcmp(p, "IHAVEOPT", 8) == 0);
	*n = 16 + get_u32(p + 12);
	REQUIRE(*n <= len);
	return get_u32(p + 8);
}

/* What one call has made: after the greeting the flags, then one option; a farewell
 * is one too. */
static void judge_output(struct outcome *o, const uint8_t *out, size_t len,
			 bool tls)
{
	uint32_t option;
	size_t n;

	if (len == 0)
		return;
	if (o->out_len == 0) {
		REQUIRE(len >= 4 && get_u32(out) <= 3);
		out += 4;
		len -= 4;
	}
	option = judge_option(out, len, &n);
	REQUIRE(n == len);
	REQUIRE(option == NBD_OPT_GO || option == NBD_OPT_INFO ||
		option == NBD_OPT_EXPORT_NAME || option == NBD_OPT_ABORT ||
		option == NBD_OPT_STARTTLS);
	REQUIRE(!tls || o->secured || option == NBD_OPT_STARTTLS ||
		option == NBD_OPT_ABORT);
}

static void judge_terms(const struct proto_client_terms *t)
{
	REQUIRE(t->size <= INT64_MAX);
	REQUIRE(t->flags & NBD_FLAG_HAS_FLAGS);
	REQUIRE(memchr(t->name, 0, sizeof(t->name)));
	REQUIRE(memchr(t->description, 0, sizeof(t->description)));
	REQUIRE(t->block_min && !(t->block_min & (t->block_min - 1)));
	REQUIRE(t->block_min <= 65536);
	REQUIRE(t->block_preferred >= t->block_min);
	REQUIRE(!(t->block_preferred & (t->block_preferred - 1)));
	REQUIRE(t->payload_max >= t->block_min);
}

/* --------------------------------------------------------------- a client */

static void take(struct outcome *o, bool tls)
{
	size_t len;
	const void *out = proto_client_output(&o->client, &len);

	REQUIRE(len <= PROTO_CLIENT_OUT_MAX);
	REQUIRE(len <= sizeof(o->out) - o->out_len);
	judge_output(o, out, len, tls);
	memcpy(o->out + o->out_len, out, len);
	o->out_len += len;
	proto_client_sent(&o->client);
}

static bool is_final(enum proto_client_event event)
{
	return event != PROTO_CLIENT_MORE && event != PROTO_CLIENT_STARTTLS;
}

/* most: bytes that are fed at a time; 0: a number that varies. */
static void converse(const uint8_t *in, size_t n, unsigned wishes, size_t most,
		     uint64_t random, struct outcome *o)
{
	static const struct proto_session session = {.epoch = 7};
	const struct proto_client_wish wish = {
		.name = "disk",
		.open = wishes & OPEN,
		.tls = wishes & TLS,
		.session = wishes & SESSION ? &session : NULL,
	};
	size_t some, step;

	o->out_len = o->used = 0;
	o->secured = false;
	o->last = PROTO_CLIENT_MORE;
	REQUIRE(proto_client_init(&o->client, &wish));
	while (!is_final(o->last) && o->used < n) {
		if (o->last == PROTO_CLIENT_STARTTLS) {
			REQUIRE(wish.tls && !o->secured);
			o->secured = true;
			proto_client_secured(&o->client);
		}
		take(o, wish.tls);
		some = proto_client_wants(&o->client);
		REQUIRE(some > 0 && some <= PROTO_CLIENT_DATA_MAX);
		step = most ? most : 1 + fuzz_random(&random) % 40;
		some = some < step ? some : step;
		some = some < n - o->used ? some : n - o->used;
		o->last = proto_client_feed(&o->client, in + o->used, some);
		o->used += some;
	}
	take(o, wish.tls);
	if (is_final(o->last))
		REQUIRE(proto_client_wants(&o->client) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome whole, pieces;
	unsigned wishes;

	if (size < 1 || size > 1 << 14)
		return 0;
	wishes = data[0];
	converse(data + 1, size - 1, wishes, SIZE_MAX, 1, &whole);
	switch (whole.last) {
	case PROTO_CLIENT_READY:
		REQUIRE(!(wishes & TLS) || whole.secured);
		judge_terms(proto_client_terms(&whole.client));
		break;
	case PROTO_CLIENT_REFUSED:
		REQUIRE(memchr(proto_client_refusal(&whole.client)->text, 0,
			       PROTO_TEXT_MAX));
		break;
	case PROTO_CLIENT_BROKEN:
		REQUIRE(proto_client_reason(&whole.client));
		break;
	default:
		break;
	}
	converse(data + 1, size - 1, wishes, 0, fuzz_hash(data, size), &pieces);
	REQUIRE(pieces.last == whole.last && pieces.used == whole.used);
	REQUIRE(pieces.out_len == whole.out_len);
	REQUIRE(memcmp(pieces.out, whole.out, whole.out_len) == 0);
	REQUIRE(memcmp(&pieces.client.terms, &whole.client.terms,
		       sizeof(whole.client.terms)) == 0);
	return 0;
}
