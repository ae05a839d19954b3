/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake's engine: collects bytes until an option is whole, has it run,
 * and queues what the options answer. One option at a time: while an answer
 * waits to be taken, no input is used. */
#include "handshake.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "wire.h"

static_assert(sizeof(struct proto_handshake) <= 8192,
	      "a handshake is what an unknown peer can make us keep");

#define CLIENT_FLAGS_KNOWN (NBD_FLAG_C_FIXED_NEWSTYLE | NBD_FLAG_C_NO_ZEROES)

struct proto_handshake *proto_handshake_new(enum proto_tls tls, bool secured)
{
	struct proto_handshake *h = calloc(1, sizeof(*h));
	struct nbd_greeting greeting = {
		.magic = htobe64(NBD_MAGIC),
		.option_magic = htobe64(NBD_OPTION_MAGIC),
		.flags = htobe16(NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES),
	};

	if (!h)
		return NULL;
	h->state = HANDSHAKE_FLAGS;
	h->tls = tls;
	h->secured = secured;
	memcpy(h->out, &greeting, sizeof(greeting));
	h->out_len = sizeof(greeting);
	return h;
}

void proto_handshake_free(struct proto_handshake *h)
{
	free(h);
}

/* ---------------------------------------------------------------- output */

const void *proto_handshake_output(const struct proto_handshake *h, size_t *len)
{
	*len = h->out_len;
	return h->out;
}

void proto_handshake_sent(struct proto_handshake *h, size_t n)
{
	assert(n <= h->out_len);
	h->out_len -= n;
	memmove(h->out, h->out + n, h->out_len);
}

bool handshake_room(const struct proto_handshake *h, size_t data_len)
{
	/* Both are small: the data is bounded by the limits in proto.h. */
	return h->out_len + sizeof(struct nbd_option_reply) + data_len <=
	       sizeof(h->out);
}

void handshake_reply(struct proto_handshake *h, uint32_t rep, const void *head,
		     size_t head_len, const void *tail, size_t tail_len)
{
	struct nbd_option_reply reply = {
		.magic = htobe64(NBD_OPTION_REPLY_MAGIC),
		.option = htobe32(h->option),
		.type = htobe32(rep),
		.length = htobe32((uint32_t)(head_len + tail_len)),
	};
	uint8_t *out = h->out + h->out_len;

	assert(handshake_room(h, head_len + tail_len));
	memcpy(out, &reply, sizeof(reply));
	out += sizeof(reply);
	if (head_len)
		memcpy(out, head, head_len);
	if (tail_len)
		memcpy(out + head_len, tail, tail_len);
	h->out_len += sizeof(reply) + head_len + tail_len;
}

static void next_option(struct proto_handshake *h)
{
	h->state = HANDSHAKE_HEADER;
	h->have = 0;
}

void handshake_ack(struct proto_handshake *h)
{
	handshake_reply(h, NBD_REP_ACK, NULL, 0, NULL, 0);
	next_option(h);
}

void handshake_error(struct proto_handshake *h, uint32_t rep, const char *text)
{
	handshake_reply(h, rep, NULL, 0, text,
			text ? text_cut(text, PROTO_TEXT_MAX) : 0);
	next_option(h);
}

void handshake_hangup(struct proto_handshake *h, const char *why)
{
	h->state = HANDSHAKE_HANGUP;
	h->why = why;
}

/* ----------------------------------------------------------------- input */

static void client_flags(struct proto_handshake *h)
{
	h->client_flags = get_u32(h->data);
	if (h->client_flags & ~CLIENT_FLAGS_KNOWN)
		handshake_hangup(h, "client flags that nobody offered");
	else
		next_option(h);
}

static void option_header(struct proto_handshake *h)
{
	struct nbd_option_header header;

	memcpy(&header, h->data, sizeof(header));
	h->have = 0;
	if (be64toh(header.magic) != NBD_OPTION_MAGIC) {
		handshake_hangup(h, "no option where one should begin");
		return;
	}
	h->option = be32toh(header.option);
	h->length = be32toh(header.length);
	option_begin(h);
}

/* How many bytes the present state collects in data. */
static size_t wanted(const struct proto_handshake *h)
{
	switch (h->state) {
	case HANDSHAKE_FLAGS:
		return sizeof(uint32_t);
	case HANDSHAKE_HEADER:
		return sizeof(struct nbd_option_header);
	default:
		return h->length;
	}
}

static void collected(struct proto_handshake *h)
{
	switch (h->state) {
	case HANDSHAKE_FLAGS:
		client_flags(h);
		break;
	case HANDSHAKE_HEADER:
		option_header(h);
		break;
	default:
		option_run(h);
	}
}

/* Use input for the present state; how much. When all that the state wants is
 * there the next state is entered. */
static size_t collect(struct proto_handshake *h, const uint8_t *in, size_t n)
{
	if (h->state == HANDSHAKE_SKIP) {
		n = min_u64(n, h->left);
		h->left -= n;
		if (h->left == 0)
			option_run(h);
		return n;
	}
	n = min_u64(n, wanted(h) - h->have);
	if (n)
		memcpy(h->data + h->have, in, n);
	h->have += n;
	if (h->have == wanted(h))
		collected(h);
	return n;
}

/* The states that wait for bytes come first and are not in here. */
static enum proto_event event_of(enum handshake_state state)
{
	switch (state) {
	case HANDSHAKE_STARTTLS:
		return PROTO_STARTTLS;
	case HANDSHAKE_LOOKUP:
		return PROTO_LOOKUP;
	case HANDSHAKE_LIST:
		return PROTO_LIST;
	case HANDSHAKE_BITMAPS:
		return PROTO_BITMAPS;
	case HANDSHAKE_READY:
		return PROTO_READY;
	case HANDSHAKE_ABORT:
		return PROTO_ABORT;
	default:
		return PROTO_HANGUP;
	}
}

enum proto_event proto_handshake_feed(struct proto_handshake *h, const void *in,
				      size_t n, size_t *used)
{
	*used = 0;
	for (;;) {
		if (h->out_len)
			return PROTO_SEND;
		if (h->state > HANDSHAKE_SKIP)
			return event_of(h->state);
		if (*used == n)
			return PROTO_MORE;
		*used += collect(h, (const uint8_t *)in + *used, n - *used);
	}
}

/* --------------------------------------------------------------- answers */

void proto_handshake_secured(struct proto_handshake *h)
{
	if (h->state != HANDSHAKE_STARTTLS)
		return;
	h->secured = true;
	h->replies = PROTO_SIMPLE;
	option_meta_forget(h);
	/* What was said in clear is not even kept as bytes. */
	memset(&h->lookup, 0, sizeof(h->lookup));
	memset(h->data, 0, sizeof(h->data));
	next_option(h);
}

void proto_handshake_stop(struct proto_handshake *h)
{
	h->stopping = true;
}

const struct proto_lookup *proto_handshake_lookup(
	const struct proto_handshake *h)
{
	return &h->lookup;
}

void proto_handshake_found(struct proto_handshake *h,
			   const struct proto_export *export)
{
	if (h->state != HANDSHAKE_LOOKUP)
		return;
	if (h->lookup.purpose == PROTO_FOR_META)
		option_meta_found(h);
	else
		option_export_found(h, export);
}

/* Is ERR_TLS_REQD allowed as an answer to the present option? */
static bool may_ask_for_tls(const struct proto_handshake *h)
{
	if (h->secured || h->tls == PROTO_TLS_OFF)
		return false;
	return h->option == NBD_OPT_INFO || h->option == NBD_OPT_GO;
}

void proto_handshake_refuse(struct proto_handshake *h, uint32_t rep,
			    const char *text)
{
	if (h->state != HANDSHAKE_LOOKUP && h->state != HANDSHAKE_LIST &&
	    h->state != HANDSHAKE_BITMAPS)
		return;
	if (h->option == NBD_OPT_EXPORT_NAME) {
		handshake_hangup(h, "EXPORT_NAME of an export that is refused");
		return;
	}
	if (h->option == NBD_OPT_SET_META_CONTEXT)
		option_meta_forget(h);
	if (rep == NBD_REP_ERR_TLS_REQD && !may_ask_for_tls(h))
		rep = NBD_REP_ERR_UNKNOWN;
	/* In BITMAPS answers may lie in front of it, but not many. */
	if (!handshake_room(h, PROTO_TEXT_MAX))
		text = NULL;
	handshake_error(h, rep | NBD_REP_ERROR, text);
}

int proto_handshake_list_item(struct proto_handshake *h, const char *name,
			      const char *description)
{
	char head[4 + PROTO_NAME_MAX];
	size_t name_len = text_cut(name, PROTO_NAME_MAX);
	size_t text_len =
		description ? text_cut(description, PROTO_DESCRIPTION_MAX) : 0;
	uint32_t length = htobe32((uint32_t)name_len);

	if (h->state != HANDSHAKE_LIST)
		return 0;
	/* So that ACK or an error always has room. */
	if (!handshake_room(h, 4 + name_len + text_len +
				       sizeof(struct nbd_option_reply)))
		return -EAGAIN;
	memcpy(head, &length, sizeof(length));
	memcpy(head + sizeof(length), name, name_len);
	handshake_reply(h, NBD_REP_SERVER, head, sizeof(length) + name_len,
			description, text_len);
	return 0;
}

void proto_handshake_list_end(struct proto_handshake *h)
{
	if (h->state == HANDSHAKE_LIST)
		handshake_ack(h);
}

const struct proto_terms *proto_handshake_terms(const struct proto_handshake *h)
{
	return &h->terms;
}

const char *proto_handshake_snapshot(const struct proto_handshake *h,
				     unsigned index)
{
	if (index >= h->terms.context_count ||
	    h->terms.contexts[index].kind != PROTO_BITMAP)
		return NULL;
	return h->snapshots[index];
}

const char *proto_handshake_in_clear(struct proto_handshake *h)
{
	const char *option = h->in_clear;

	h->in_clear = NULL;
	return option;
}

bool proto_handshake_tls_missed(struct proto_handshake *h)
{
	if (!h->tls_missed || h->tls_told)
		return false;
	h->tls_told = true;
	return true;
}

const char *proto_handshake_reason(const struct proto_handshake *h)
{
	return h->state == HANDSHAKE_HANGUP ? h->why : "";
}
