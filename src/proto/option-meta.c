/* SPDX-License-Identifier: BSD-3-Clause */
/* LIST_META_CONTEXT and SET_META_CONTEXT: what BLOCK_STATUS can tell of an
 * export. The queries stay in h->data while the caller looks for the export and
 * its snapshots, and each context is held against them as it comes. */
#include "handshake.h"

#include <errno.h>
#include <string.h>

#include "wire.h"

#define ALLOCATION "base:allocation"
#define DEPTH "qemu:allocation-depth"
#define BITMAP "qemu:dirty-bitmap:"

#define BITMAP_NAME_MAX (sizeof(BITMAP) - 1 + PROTO_NAME_MAX)

/* One query, which lies in h->data. */
struct query {
	const char *text;
	size_t len;
};

void option_meta_forget(struct proto_handshake *h)
{
	h->context_count = 0;
	h->context_name_len = 0;
}

/* The query at *at, which is moved behind it. Only after they were checked. */
static struct query next_query(const struct proto_handshake *h, uint32_t *at)
{
	struct query query = {
		.text = (const char *)h->data + *at + 4,
		.len = get_u32(h->data + *at),
	};

	*at += 4 + (uint32_t)query.len;
	return query;
}

/* The option's form, from its length inwards: 32 bits length of the name, the
 * name, 32 bits number of queries, each with 32 bits of length. NULL, or what is
 * wrong. */
static const char *parse(struct proto_handshake *h)
{
	uint32_t name_len, left, at;

	if (h->length < 8)
		return "the option is too short";
	name_len = get_u32(h->data);
	if (name_len > h->length - 8)
		return "the name is longer than the option";
	h->query_count = get_u32(h->data + 4 + name_len);
	h->query_at = at = 8 + name_len;
	left = h->length - at;
	for (uint32_t i = 0; i < h->query_count; i++) {
		uint32_t len;

		if (left < 4)
			return "there are fewer queries than announced";
		len = get_u32(h->data + at);
		if (len > left - 4)
			return "a query is longer than the option";
		if (len > PROTO_STRING_MAX || memchr(h->data + at + 4, 0, len))
			return "a query is no string";
		at += 4 + len;
		left -= 4 + len;
	}
	if (left)
		return "something follows the queries";
	/* The name's end is marked where the number was. */
	return option_lookup(h, PROTO_FOR_META, h->data + 4, name_len);
}

void option_meta(struct proto_handshake *h)
{
	const char *wrong;

	if (h->replies == PROTO_SIMPLE)
		wrong = "contexts need structured replies";
	else
		wrong = parse(h);
	if (wrong)
		handshake_error(h, NBD_REP_ERR_INVALID, wrong);
	else
		h->state = HANDSHAKE_LOOKUP;
}

/* ---------------------------------------------------------------- matching */

static bool is(struct query query, const char *text)
{
	return query.len == strlen(text) &&
	       memcmp(query.text, text, query.len) == 0;
}

/* Does a list ask for all snapshots? */
static bool all_bitmaps(const struct proto_handshake *h)
{
	uint32_t at = h->query_at;

	if (h->option != NBD_OPT_LIST_META_CONTEXT)
		return false;
	if (h->query_count == 0)
		return true;
	for (uint32_t i = 0; i < h->query_count; i++) {
		struct query query = next_query(h, &at);

		if (is(query, "qemu:") || is(query, BITMAP))
			return true;
	}
	return false;
}

/* Does the client ask for the context of that name? When it wants a list, the
 * names of whole families will do, and no query asks for all. */
static bool asked_for(const struct proto_handshake *h, const char *name,
		      enum proto_context_kind kind)
{
	bool list = h->option == NBD_OPT_LIST_META_CONTEXT;
	uint32_t at = h->query_at;

	if (list && h->query_count == 0)
		return true;
	if (kind == PROTO_BITMAP && h->bitmaps_all)
		return true;
	for (uint32_t i = 0; i < h->query_count; i++) {
		struct query query = next_query(h, &at);

		if (is(query, name))
			return true;
		if (list &&
		    is(query, kind == PROTO_ALLOCATION ? "base:" : "qemu:"))
			return true;
	}
	return false;
}

/* The name of the snapshot in a query, which is cut to that. */
static bool bitmap_name(struct query *query)
{
	const size_t prefix = sizeof(BITMAP) - 1;

	if (query->len < prefix || memcmp(query->text, BITMAP, prefix) != 0)
		return false;
	query->text += prefix;
	query->len -= prefix;
	return true;
}

/* Might any snapshot be asked for? */
static bool bitmaps_asked_for(const struct proto_handshake *h)
{
	uint32_t at = h->query_at;

	if (h->bitmaps_all)
		return true;
	for (uint32_t i = 0; i < h->query_count; i++) {
		struct query query = next_query(h, &at);

		if (bitmap_name(&query))
			return true;
	}
	return false;
}

bool proto_handshake_bitmaps_all(const struct proto_handshake *h)
{
	return h->state == HANDSHAKE_BITMAPS && h->bitmaps_all;
}

/* Whether the query that ends at `end` has been there before. */
static bool is_repeated(const struct proto_handshake *h, struct query query,
			uint32_t end)
{
	uint32_t at = h->query_at;

	for (;;) {
		struct query other = next_query(h, &at);

		if (at >= end)
			return false;
		if (other.len == query.len &&
		    memcmp(other.text, query.text, query.len) == 0)
			return true;
	}
}

bool proto_handshake_bitmap_asked(const struct proto_handshake *h, uint32_t *at,
				  char *name)
{
	if (h->state != HANDSHAKE_BITMAPS)
		return false;
	if (*at == 0)
		*at = h->query_at;
	while (*at < h->length) {
		struct query query = next_query(h, at);

		if (is_repeated(h, query, *at) || !bitmap_name(&query) ||
		    query.len == 0 || query.len > PROTO_NAME_MAX)
			continue;
		memcpy(name, query.text, query.len);
		name[query.len] = 0;
		return true;
	}
	return false;
}

/* Answer with one context, and select it if that is what the client wants.
 * False: too many. */
static bool give(struct proto_handshake *h, const char *name,
		 enum proto_context_kind kind)
{
	uint32_t id = 0;

	if (h->option == NBD_OPT_SET_META_CONTEXT) {
		if (h->context_count == PROTO_CONTEXTS_MAX)
			return false;
		id = h->context_count + 1;
		h->contexts[h->context_count++] =
			(struct proto_context){.id = id, .kind = kind};
	}
	id = htobe32(id);
	handshake_reply(h, NBD_REP_META_CONTEXT, &id, sizeof(id), name,
			strlen(name));
	return true;
}

void option_meta_found(struct proto_handshake *h)
{
	/* Names that are longer exist nowhere. */
	if (h->option == NBD_OPT_SET_META_CONTEXT &&
	    h->lookup.name_len <= PROTO_NAME_MAX) {
		h->context_name_len = h->lookup.name_len;
		memcpy(h->context_name, h->lookup.name, h->lookup.name_len);
	}
	if (asked_for(h, ALLOCATION, PROTO_ALLOCATION))
		give(h, ALLOCATION, PROTO_ALLOCATION);
	if (asked_for(h, DEPTH, PROTO_DEPTH))
		give(h, DEPTH, PROTO_DEPTH);
	h->bitmaps_all = all_bitmaps(h);
	if (bitmaps_asked_for(h))
		h->state = HANDSHAKE_BITMAPS;
	else
		handshake_ack(h);
}

int proto_handshake_bitmap(struct proto_handshake *h, const char *snapshot)
{
	char name[BITMAP_NAME_MAX + 1] = BITMAP;
	size_t len = strnlen(snapshot, PROTO_NAME_MAX + 1);

	if (h->state != HANDSHAKE_BITMAPS || len > PROTO_NAME_MAX)
		return 0;
	memcpy(name + sizeof(BITMAP) - 1, snapshot, len);
	name[sizeof(BITMAP) - 1 + len] = 0;
	if (!asked_for(h, name, PROTO_BITMAP))
		return 0;
	/* So that ACK or an error always has room. */
	if (!handshake_room(h, 4 + strlen(name) +
				       sizeof(struct nbd_option_reply) +
				       PROTO_TEXT_MAX))
		return -EAGAIN;
	if (!give(h, name, PROTO_BITMAP)) {
		option_meta_forget(h);
		handshake_error(h, NBD_REP_ERR_TOO_BIG,
				"too many contexts at once");
		return 0;
	}
	if (h->option != NBD_OPT_SET_META_CONTEXT)
		return 0;
	memcpy(h->snapshots[h->context_count - 1], snapshot, len + 1);
	return (int)h->context_count;
}

void proto_handshake_bitmaps_end(struct proto_handshake *h)
{
	if (h->state == HANDSHAKE_BITMAPS)
		handshake_ack(h);
}
