/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake of a connection: the codec asks, the exports answer. */
#include "handshake.h"

#include <string.h>

#include "log.h"
#include "stream.h"

static int queue_output(struct conn *c)
{
	size_t len;
	const void *bytes = proto_handshake_output(c->handshake, &len);
	struct out *out = outq_push(&c->out, &c->worker->outs, len, 0, 0);

	if (!out)
		return stream_end(c, "no memory");
	memcpy(out_head(out), bytes, len);
	proto_handshake_sent(c->handshake, len);
	return 0;
}

static void answer_lookup(struct conn *c)
{
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	const struct export *e =
		exports_find(&c->worker->server->exports, l->name);
	char text[160], clean[120];
	struct proto_export facts = {0};

	if (!e) {
		log_escape(l->name, l->name_len, clean, sizeof(clean));
		log_info("%llu %s: %s: there is no export \"%s\"",
			 (unsigned long long)c->id, c->peer, l->option, clean);
		proto_handshake_refuse(c->handshake, NBD_REP_ERR_UNKNOWN,
				       "there is no such export");
		return;
	}
	export_describe(e, text, sizeof(text));
	facts.name = e->name;
	facts.description = text;
	facts.size = ram_disk_size(e->disk);
	facts.flags = e->readonly || ram_disk_readonly(e->disk)
			      ? PROTO_FLAGS_READONLY
			      : PROTO_FLAGS_WRITABLE;
	facts.block_min = 1;
	facts.block_preferred = RAM_BLOCK;
	facts.payload_max = PROTO_PAYLOAD_MAX;
	if (l->purpose == PROTO_FOR_ACCESS)
		c->export = e;
	proto_handshake_found(c->handshake, &facts);
}

/* One after the other; the codec says when its buffer is full, and asks again
 * once it was taken. */
static int answer_list(struct conn *c)
{
	const struct exports *exports = &c->worker->server->exports;
	char text[160];
	unsigned i;
	int error;

	for (i = 0; i < exports->count; i++) {
		export_describe(&exports->list[i], text, sizeof(text));
		while (proto_handshake_list_item(c->handshake,
						 exports->list[i].name, text)) {
			error = queue_output(c);
			if (error)
				return error;
		}
	}
	proto_handshake_list_end(c->handshake);
	return 0;
}

int handshake_use(struct conn *c, const uint8_t *buf, size_t n, size_t *used)
{
	size_t part;

	*used = 0;
	for (;;) {
		enum proto_event event = proto_handshake_feed(
			c->handshake, buf + *used, n - *used, &part);

		*used += part;
		switch (event) {
		case PROTO_MORE:
			return 0;
		case PROTO_SEND:
			/* A peer that asks and does not listen is let go. */
			if (conn_full(c))
				return stream_end(c, "it does not take its "
						     "replies");
			if (queue_output(c))
				return -1;
			break;
		case PROTO_LOOKUP:
			answer_lookup(c);
			break;
		case PROTO_LIST:
			if (answer_list(c))
				return -1;
			break;
		case PROTO_BITMAPS:
			proto_handshake_bitmaps_end(c->handshake);
			break;
		case PROTO_READY:
			c->terms = *proto_handshake_terms(c->handshake);
			conn_handshake_over(c);
			c->state = CONN_REQUEST;
			log_info("%llu %s: opened \"%s\"",
				 (unsigned long long)c->id, c->peer,
				 c->export->name);
			return 0;
		case PROTO_ABORT:
			c->state = CONN_DRAIN;
			return 0;
		case PROTO_STARTTLS:
		case PROTO_HANGUP:
			log_info("%llu %s: handshake: %s",
				 (unsigned long long)c->id, c->peer,
				 event == PROTO_HANGUP
					 ? proto_handshake_reason(c->handshake)
					 : "TLS is not to be had");
			c->state = CONN_DRAIN;
			return 0;
		}
	}
}
