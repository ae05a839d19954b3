/* SPDX-License-Identifier: BSD-3-Clause */
/* See client.h. The server speaks first; then each of our options is answered
 * before the next one is sent, so there is one answer at a time to wait for. */
#include "client.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "wire.h"

enum client_state {
	CLIENT_MAGIC,	 /* of the greeting: tells who is there */
	CLIENT_GREETING, /* the rest of it */
	CLIENT_HEADER,	 /* of an answer */
	CLIENT_DATA,	 /* of an answer */
	CLIENT_EXPORT,	 /* the answer to EXPORT_NAME, which has no header */
	CLIENT_TLS,	 /* the caller is to secure the stream */
	CLIENT_OVER,
};

/* What an old server says in the place of NBD_OPTION_MAGIC. */
#define OLDSTYLE_MAGIC UINT64_C(0x00420281861253)

/* Told by nobody: what every server must take, and what clients ask for. */
#define BLOCK_MIN_DEFAULT 512u
#define BLOCK_PREFERRED_DEFAULT 4096u
#define PAYLOAD_DEFAULT (32u << 20)

#define INFO_EXPORT_SIZE sizeof(struct nbd_info_export)
#define INFO_BLOCK_SIZE sizeof(struct nbd_info_block_size)
#define EXPORT_REPLY_SIZE 10u
#define EXPORT_REPLY_ZEROES 124u

/* ------------------------------------------------------------------ output */

/* What is sent behind what is there already; there is room for all that is ever
 * sent at one time. */
static void put(struct proto_client *c, const void *data, size_t len)
{
	memcpy(c->out + c->out_len, data, len);
	c->out_len += len;
}

static void put_u16(struct proto_client *c, uint16_t value)
{
	value = htobe16(value);
	put(c, &value, sizeof(value));
}

static void put_u32(struct proto_client *c, uint32_t value)
{
	value = htobe32(value);
	put(c, &value, sizeof(value));
}

static void put_option(struct proto_client *c, uint32_t option, uint32_t length)
{
	const struct nbd_option_header header = {
		.magic = htobe64(NBD_OPTION_MAGIC),
		.option = htobe32(option),
		.length = htobe32(length),
	};

	put(c, &header, sizeof(header));
}

static void await(struct proto_client *c, enum client_state state, size_t want)
{
	c->state = state;
	c->have = 0;
	c->want = want;
}

static enum proto_client_event broken(struct proto_client *c,
				      const char *reason)
{
	c->reason = reason;
	c->out_len = 0;
	await(c, CLIENT_OVER, 0);
	return PROTO_CLIENT_BROKEN;
}

/* Leave politely where options may be sent still. */
static enum proto_client_event over(struct proto_client *c,
				    enum proto_client_event event)
{
	if (!c->terms.opened)
		put_option(c, NBD_OPT_ABORT, 0);
	await(c, CLIENT_OVER, 0);
	return event;
}

static enum proto_client_event send_starttls(struct proto_client *c)
{
	c->option = NBD_OPT_STARTTLS;
	put_option(c, c->option, 0);
	await(c, CLIENT_HEADER, sizeof(struct nbd_option_reply));
	return PROTO_CLIENT_MORE;
}

/* INFO or GO, with all that a server may tell. */
static enum proto_client_event send_info(struct proto_client *c)
{
	static const uint16_t infos[] = {NBD_INFO_BLOCK_SIZE, NBD_INFO_NAME,
					 NBD_INFO_DESCRIPTION};

	c->option = c->open ? NBD_OPT_GO : NBD_OPT_INFO;
	c->infos = 0;
	put_option(c, c->option, 4 + c->name_len + 2 + sizeof(infos));
	put_u32(c, c->name_len);
	put(c, c->name, c->name_len);
	put_u16(c, ARRAY_SIZE(infos));
	for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
		put_u16(c, infos[i]);
	await(c, CLIENT_HEADER, sizeof(struct nbd_option_reply));
	return PROTO_CLIENT_MORE;
}

/* The way of servers that know nothing else: no answer but the export's. */
static enum proto_client_event send_export_name(struct proto_client *c)
{
	c->option = NBD_OPT_EXPORT_NAME;
	put_option(c, c->option, c->name_len);
	put(c, c->name, c->name_len);
	await(c, CLIENT_EXPORT,
	      EXPORT_REPLY_SIZE + (c->zeroes ? EXPORT_REPLY_ZEROES : 0));
	return PROTO_CLIENT_MORE;
}

/* ---------------------------------------------------------------- greeting */

static enum proto_client_event take_magic(struct proto_client *c)
{
	uint64_t magic = get_u64(c->data);

	if (memcmp(c->data, "HTTP/", 5) == 0)
		return broken(c, "an HTTP server answers there");
	if (memcmp(c->data, "SSH-", 4) == 0)
		return broken(c, "an SSH server answers there");
	if (magic != NBD_MAGIC)
		return broken(c, "what answers there is no NBD server");
	await(c, CLIENT_GREETING, sizeof(struct nbd_greeting) - 8);
	return PROTO_CLIENT_MORE;
}

static enum proto_client_event take_greeting(struct proto_client *c)
{
	uint64_t magic = get_u64(c->data);
	uint16_t flags = get_u16(c->data + 8);
	uint32_t answer = 0;

	if (magic == OLDSTYLE_MAGIC)
		return broken(c, "the server speaks the oldstyle protocol, "
				 "which has no exports by name; a newer one is "
				 "needed");
	if (magic != NBD_OPTION_MAGIC)
		return broken(c, "the server's greeting is no NBD");
	if (flags & NBD_FLAG_FIXED_NEWSTYLE)
		answer |= NBD_FLAG_C_FIXED_NEWSTYLE;
	else if (c->tls)
		return broken(c, "the server is too old for TLS");
	if (flags & NBD_FLAG_NO_ZEROES)
		answer |= NBD_FLAG_C_NO_ZEROES;
	c->zeroes = !(flags & NBD_FLAG_NO_ZEROES);
	put_u32(c, answer);
	if (!(flags & NBD_FLAG_FIXED_NEWSTYLE))
		return send_export_name(c);
	return c->tls ? send_starttls(c) : send_info(c);
}

/* ----------------------------------------------------------------- answers */

static bool power_of_two(uint32_t value)
{
	return value && !(value & (value - 1));
}

/* NULL, or what is wrong. */
static const char *take_export(struct proto_client *c, uint64_t size,
			       uint16_t flags)
{
	if (size > INT64_MAX)
		return "the server tells a size above 2^63";
	if (!(flags & NBD_FLAG_HAS_FLAGS))
		return "the server tells flags that are none";
	c->terms.size = size;
	c->terms.flags = flags;
	c->has_export = true;
	return NULL;
}

static const char *take_block_size(struct proto_client *c)
{
	uint32_t min = get_u32(c->data + 2), preferred = get_u32(c->data + 6),
		 max = get_u32(c->data + 10);

	if (c->length != INFO_BLOCK_SIZE)
		return "the server tells block sizes of the wrong length";
	if (!power_of_two(min) || min > 64u << 10 || !power_of_two(preferred) ||
	    preferred < min || preferred < 512 || max < min ||
	    (max != UINT32_MAX && max % min != 0))
		return "the server tells block sizes that make no sense";
	c->terms.block_size_told = true;
	c->terms.block_min = min;
	c->terms.block_preferred = preferred;
	c->terms.payload_max = max;
	return NULL;
}

static const char *take_string(struct proto_client *c, char *to)
{
	size_t len = c->length - 2;

	if (len > PROTO_STRING_MAX || memchr(c->data + 2, 0, len))
		return "the server tells a text that is none";
	memcpy(to, c->data + 2, len);
	to[len] = 0;
	return NULL;
}

/* What is not known is passed over, as the protocol asks. */
static const char *take_info(struct proto_client *c)
{
	if (c->length < 2)
		return "the server's answer is too short";
	switch (get_u16(c->data)) {
	case NBD_INFO_EXPORT:
		if (c->length != INFO_EXPORT_SIZE)
			return "the server tells of an export in the wrong "
			       "length";
		return take_export(c, get_u64(c->data + 2),
				   get_u16(c->data + 10));
	case NBD_INFO_BLOCK_SIZE:
		return take_block_size(c);
	case NBD_INFO_NAME:
		return take_string(c, c->terms.name);
	case NBD_INFO_DESCRIPTION:
		return take_string(c, c->terms.description);
	}
	return NULL;
}

static enum proto_client_event take_ack(struct proto_client *c)
{
	if (c->length)
		return broken(c, "the server's answer has data that belongs to "
				 "none");
	if (c->option == NBD_OPT_STARTTLS) {
		await(c, CLIENT_TLS, 0);
		return PROTO_CLIENT_STARTTLS;
	}
	if (!c->has_export)
		return broken(c, "the server has not told the export's size");
	c->terms.opened = c->open;
	return over(c, PROTO_CLIENT_READY);
}

static enum proto_client_event take_refusal(struct proto_client *c)
{
	size_t len = c->length;

	/* Before GO there was EXPORT_NAME. */
	if (c->type == NBD_REP_ERR_UNSUP && c->option != NBD_OPT_STARTTLS)
		return send_export_name(c);
	if (len >= sizeof(c->refusal.text))
		len = sizeof(c->refusal.text) - 1;
	c->refusal.option = c->option;
	c->refusal.rep = c->type;
	memcpy(c->refusal.text, c->data, len);
	c->refusal.text[len] = 0;
	return over(c, PROTO_CLIENT_REFUSED);
}

/* An answer is there, with its data. */
static enum proto_client_event take_answer(struct proto_client *c)
{
	const char *wrong;

	if (c->type & NBD_REP_ERROR)
		return take_refusal(c);
	if (c->type == NBD_REP_ACK)
		return take_ack(c);
	if (c->type != NBD_REP_INFO || c->option == NBD_OPT_STARTTLS)
		return broken(c, "the server's answer is none to the question");
	if (++c->infos > PROTO_CLIENT_INFOS_MAX)
		return broken(c, "the server's answer has no end");
	wrong = take_info(c);
	if (wrong)
		return broken(c, wrong);
	await(c, CLIENT_HEADER, sizeof(struct nbd_option_reply));
	return PROTO_CLIENT_MORE;
}

static enum proto_client_event take_header(struct proto_client *c)
{
	if (get_u64(c->data) != NBD_OPTION_REPLY_MAGIC)
		return broken(c, "the server's answer is no NBD");
	if (get_u32(c->data + 8) != c->option)
		return broken(c, "the server answers what was not asked");
	c->type = get_u32(c->data + 12);
	c->length = get_u32(c->data + 16);
	if (c->length > PROTO_CLIENT_DATA_MAX)
		return broken(c, "the server's answer is too long");
	if (c->length == 0)
		return take_answer(c);
	await(c, CLIENT_DATA, c->length);
	return PROTO_CLIENT_MORE;
}

static enum proto_client_event take_export_reply(struct proto_client *c)
{
	const char *wrong =
		take_export(c, get_u64(c->data), get_u16(c->data + 8));

	if (wrong)
		return broken(c, wrong);
	c->terms.opened = true;
	return over(c, PROTO_CLIENT_READY);
}

/* ------------------------------------------------------------------ public */

bool proto_client_init(struct proto_client *c,
		       const struct proto_client_wish *wish)
{
	const struct proto_session *s = wish->session;
	const uint8_t *u;

	memset(c, 0, sizeof(*c));
	if (strlen(wish->name) > PROTO_STRING_MAX ||
	    (s && strchr(wish->name, ';')))
		return false;
	c->name_len = strlen(wish->name);
	memcpy(c->name, wish->name, c->name_len);
	if (s) {
		u = s->uuid;
		c->name_len += snprintf(
			c->name + c->name_len, sizeof(c->name) - c->name_len,
			";s=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
			"%02x%02x%02x%02x%02x%02x.%" PRIu64,
			u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8],
			u[9], u[10], u[11], u[12], u[13], u[14], u[15],
			s->epoch);
	}
	if (c->name_len > PROTO_STRING_MAX)
		return false;
	c->open = wish->open;
	c->tls = wish->tls;
	c->terms.block_min = BLOCK_MIN_DEFAULT;
	c->terms.block_preferred = BLOCK_PREFERRED_DEFAULT;
	c->terms.payload_max = PAYLOAD_DEFAULT;
	await(c, CLIENT_MAGIC, 8);
	return true;
}

size_t proto_client_wants(const struct proto_client *c)
{
	return c->want - c->have;
}

enum proto_client_event proto_client_feed(struct proto_client *c,
					  const void *in, size_t n)
{
	memcpy(c->data + c->have, in, n);
	c->have += n;
	if (c->have < c->want)
		return PROTO_CLIENT_MORE;
	switch ((enum client_state)c->state) {
	case CLIENT_MAGIC:
		return take_magic(c);
	case CLIENT_GREETING:
		return take_greeting(c);
	case CLIENT_HEADER:
		return take_header(c);
	case CLIENT_DATA:
		return take_answer(c);
	case CLIENT_EXPORT:
		return take_export_reply(c);
	case CLIENT_TLS:
		return PROTO_CLIENT_STARTTLS;
	case CLIENT_OVER:
		break;
	}
	return PROTO_CLIENT_BROKEN;
}

const void *proto_client_output(const struct proto_client *c, size_t *len)
{
	*len = c->out_len;
	return c->out;
}

void proto_client_sent(struct proto_client *c)
{
	c->out_len = 0;
}

void proto_client_secured(struct proto_client *c)
{
	send_info(c);
}

const struct proto_client_terms *proto_client_terms(
	const struct proto_client *c)
{
	return &c->terms;
}

const struct proto_client_refusal *proto_client_refusal(
	const struct proto_client *c)
{
	return &c->refusal;
}

const char *proto_client_reason(const struct proto_client *c)
{
	return c->reason;
}

void proto_put_disc(void *buf)
{
	const struct nbd_request request = {
		.magic = htobe32(NBD_REQUEST_MAGIC),
		.type = htobe16(NBD_CMD_DISC),
	};

	memcpy(buf, &request, sizeof(request));
}

_Static_assert(PROTO_DISC_SIZE == sizeof(struct nbd_request), "one request");
