/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream of requests, made of anything, and a server of the simplest kind that
 * answers it. Whatever comes in:
 * - a request that is called legal has a range inside the export, a payload
 *   that is bounded, and flags that were offered;
 * - each answer is a reply in the form that was agreed, with the request's
 *   cookie, and a length that is that of what follows;
 * - headers are taken alike however many bytes come with them.
 * The first byte says what was agreed. */
#include "fuzz/fuzz.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "proto.h"

const char fuzz_corpus[] = "request";

#define SIZE (UINT64_C(1) << 33)

static uint64_t get(const uint8_t *p, size_t width)
{
	uint64_t value = 0;

	while (width--)
		value = value << 8 | *p++;
	return value;
}

static struct proto_terms terms_of(uint8_t setup)
{
	struct proto_terms terms = {
		.replies = setup % 3,
		.size = SIZE,
		.flags = NBD_FLAG_HAS_FLAGS |
			 (setup & 4 ? PROTO_FLAGS_READONLY
				    : PROTO_FLAGS_WRITABLE),
		.block_min = setup & 8 ? 512 : 1,
		.block_preferred = 4096,
		.payload_max = setup & 16 ? 1u << 16 : PROTO_PAYLOAD_MAX,
	};

	if (terms.replies == PROTO_SIMPLE)
		return terms;
	terms.flags |= NBD_FLAG_SEND_DF;
	terms.context_count = setup >> 5;
	for (unsigned i = 0; i < terms.context_count; i++)
		terms.contexts[i].id = i + 1;
	if (terms.replies == PROTO_EXTENDED && terms.context_count)
		terms.flags |= NBD_FLAG_BLOCK_STATUS_PAYLOAD;
	return terms;
}

/* ----------------------------------------------------------------- replies */

/* One reply at p: that it belongs to the request, and what is announced to
 * follow its header (of simple ones: nothing here). */
static void check_reply(const struct proto_terms *terms,
			const struct proto_request *request, const uint8_t *p,
			size_t len, uint64_t body, bool last)
{
	size_t head = 0;

	REQUIRE(len >= 16 && len <= PROTO_REPLY_MAX);
	REQUIRE(memcmp(p + 8, &request->cookie, 8) == 0);
	switch ((uint32_t)get(p, 4)) {
	case NBD_SIMPLE_REPLY_MAGIC:
		REQUIRE(terms->replies != PROTO_EXTENDED && len == 16);
		REQUIRE(terms->replies == PROTO_SIMPLE ||
			request->command != NBD_CMD_READ);
		return;
	case NBD_STRUCTURED_REPLY_MAGIC:
		REQUIRE(terms->replies == PROTO_STRUCTURED);
		head = 20;
		REQUIRE(get(p + 16, 4) == len - head + body);
		break;
	case NBD_EXTENDED_REPLY_MAGIC:
		REQUIRE(terms->replies == PROTO_EXTENDED);
		head = 32;
		REQUIRE(get(p + 16, 8) == request->offset);
		REQUIRE(get(p + 24, 8) == len - head + body);
		break;
	default:
		abort();
	}
	REQUIRE(get(p + 4, 2) == (last ? NBD_REPLY_FLAG_DONE : 0));
	if (get(p + 6, 2) == NBD_REPLY_TYPE_ERROR) {
		REQUIRE(get(p + head, 4) != 0);
		REQUIRE(get(p + head + 4, 2) == len - head - 6);
	}
}

static void reply_error(const struct proto_terms *terms,
			const struct proto_request *request, int err,
			const char *text)
{
	uint8_t buf[PROTO_REPLY_MAX];
	size_t len = proto_put_error(terms, request, err, text, buf);

	REQUIRE(text && *text);
	check_reply(terms, request, buf, len, 0, true);
	if (len == 16)
		REQUIRE(get(buf + 4, 4) == proto_error(err));
}

static void reply_read(const struct proto_terms *terms,
		       const struct proto_request *request)
{
	uint8_t buf[PROTO_REPLY_MAX];
	uint64_t half = request->length / 2;
	size_t len;

	if (terms->replies == PROTO_SIMPLE || half == 0 ||
	    request->flags & NBD_CMD_FLAG_DF) {
		len = proto_put_data(terms, request, request->length,
				     request->offset, true, buf);
		check_reply(terms, request, buf, len, request->length, true);
		return;
	}
	len = proto_put_hole(terms, request, (uint32_t)half, request->offset,
			     false, buf);
	check_reply(terms, request, buf, len, 0, false);
	len = proto_put_data(terms, request, request->length - half,
			     request->offset + half, true, buf);
	check_reply(terms, request, buf, len, request->length - half, true);
}

static void reply_status(const struct proto_terms *terms,
			 const struct proto_request *request)
{
	uint8_t buf[PROTO_REPLY_MAX], extent[PROTO_EXTENT_SIZE_MAX];
	uint64_t most = min_u64(request->length, proto_extent_max(terms));
	size_t len, extent_len;

	REQUIRE(request->contexts);
	for (unsigned i = 0; i < terms->context_count; i++) {
		bool last = request->contexts >> i == 1;

		if (!(request->contexts >> i & 1))
			continue;
		extent_len = proto_put_extent(terms, most, 0, extent);
		REQUIRE(extent_len <= sizeof(extent));
		len = proto_put_status(terms, request, &terms->contexts[i], 1,
				       last, buf);
		check_reply(terms, request, buf, len, extent_len, last);
	}
	REQUIRE(request->contexts >> terms->context_count == 0);
}

/* ---------------------------------------------------------------- requests */

static void check_legal(const struct proto_terms *terms,
			const struct proto_request *request)
{
	bool changes = request->command == NBD_CMD_WRITE ||
		       request->command == NBD_CMD_TRIM ||
		       request->command == NBD_CMD_WRITE_ZEROES;

	REQUIRE(request->command <= NBD_CMD_BLOCK_STATUS);
	REQUIRE(!(terms->flags & NBD_FLAG_READ_ONLY && changes));
	REQUIRE(request->payload <= terms->payload_max);
	if (request->command == NBD_CMD_FLUSH)
		return;
	REQUIRE(request->length > 0 && request->offset < SIZE &&
		request->length <= SIZE - request->offset);
	REQUIRE(request->offset % terms->block_min == 0 &&
		request->length % terms->block_min == 0);
	if (request->command == NBD_CMD_READ ||
	    request->command == NBD_CMD_WRITE)
		REQUIRE(request->length <= terms->payload_max);
}

static void reply_done(const struct proto_terms *terms,
		       const struct proto_request *request)
{
	uint8_t buf[PROTO_REPLY_MAX];
	size_t len;

	check_legal(terms, request);
	switch (request->command) {
	case NBD_CMD_READ:
		reply_read(terms, request);
		break;
	case NBD_CMD_BLOCK_STATUS:
		reply_status(terms, request);
		break;
	default:
		len = proto_put_ack(terms, request, buf);
		check_reply(terms, request, buf, len, 0, true);
	}
}

/* One request at p: what it takes of the input, 0: no more can be read. */
static size_t one(const struct proto_terms *terms, const uint8_t *p, size_t n)
{
	struct proto_request request, again;
	const char *text = NULL;
	int used = proto_parse_request(terms, p, n, &request), err;

	if (used <= 0) {
		REQUIRE(used == -EPROTO ? n >= 4 : n < PROTO_REQUEST_MAX);
		return 0;
	}
	REQUIRE((size_t)used <= n && used <= (int)PROTO_REQUEST_MAX);
	for (int less = 0; less < used; less++)
		REQUIRE(!proto_parse_request(terms, p, (size_t)less, &again));
	err = proto_check_request(terms, SIZE, &request, &text);
	if (request.command == NBD_CMD_DISC)
		return 0;
	if (err == -ECONNABORTED || request.payload > n - (size_t)used) {
		REQUIRE(err != -ECONNABORTED || *text);
		return 0;
	}
	if (!err && request.command == NBD_CMD_BLOCK_STATUS && request.payload)
		err = proto_parse_status(terms, p + used, SIZE, &request,
					 &text);
	if (err)
		reply_error(terms, &request, err, text);
	else
		reply_done(terms, &request);
	return (size_t)used + request.payload;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_terms terms;
	size_t at = 1, used;

	if (size < 1)
		return 0;
	terms = terms_of(data[0]);
	while ((used = one(&terms, data + at, size - at)) > 0)
		at += used;
	return 0;
}
