/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that ask for an export: EXPORT_NAME, INFO and GO. Their names may
 * end in a session, ";s=UUID.EPOCH". */
#include "handshake.h"

#include <assert.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "wire.h"

/* --------------------------------------------------------------- the name */

/* 8-4-4-4-12 hexadecimal digits at text; NULL: not of that form, else what
 * stands behind. */
static const char *parse_uuid(const char *text, uint8_t uuid[16])
{
	for (unsigned i = 0; i < 16; i++) {
		int high, low;

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return NULL;
		high = parse_hex_digit(text[0]);
		low = high < 0 ? -1 : parse_hex_digit(text[1]);
		if (low < 0)
			return NULL;
		uuid[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return text;
}

/* All of text as a decimal number. */
static bool parse_epoch(const char *text, uint64_t *epoch)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' ||
		    mul_overflows(value, 10, &value) ||
		    add_overflows(value, (uint64_t)(*text - '0'), &value))
			return false;
	}
	*epoch = value;
	return true;
}

/* What follows the name: ";s=UUID.EPOCH" and nothing else. */
static bool parse_session(const char *text, struct proto_session *session)
{
	if (strncmp(text, ";s=", 3) != 0)
		return false;
	text = parse_uuid(text + 3, session->uuid);
	return text && *text == '.' && parse_epoch(text + 1, &session->epoch);
}

const char *option_lookup(struct proto_handshake *h, enum proto_purpose purpose,
			  uint8_t *name, size_t name_len)
{
	struct proto_lookup *lookup = &h->lookup;
	char *semicolon;

	if (name_len > PROTO_STRING_MAX)
		return "the name is longer than 4096 bytes";
	if (memchr(name, 0, name_len))
		return "the name has a zero byte in it";
	name[name_len] = 0;
	*lookup = (struct proto_lookup){
		.purpose = purpose,
		.name = (const char *)name,
		.name_len = name_len,
		.secured = h->secured,
		.option = proto_option_name(h->option),
	};
	semicolon = strchr((char *)name, ';');
	if (semicolon) {
		if (!parse_session(semicolon, &lookup->session))
			return "what follows the ; is not s=UUID.EPOCH";
		lookup->has_session = true;
		lookup->name_len = (size_t)(semicolon - (char *)name);
		*semicolon = 0;
	}
	return NULL;
}

/* ------------------------------------------------------------ the options */

void option_export_name(struct proto_handshake *h)
{
	const char *wrong;

	/* It has no way to tell of what extended headers brought. */
	if (h->replies == PROTO_EXTENDED) {
		handshake_hangup(h, "EXPORT_NAME after EXTENDED_HEADERS");
		return;
	}
	wrong = option_lookup(h, PROTO_FOR_ACCESS, h->data, h->length);
	if (wrong)
		handshake_hangup(h, wrong);
	else
		h->state = HANDSHAKE_LOOKUP;
}

/* INFO and GO: 32 bits length of the name, the name, 16 bits number of
 * requests, 16 bits each. */
void option_info(struct proto_handshake *h)
{
	enum proto_purpose purpose = h->option == NBD_OPT_GO ? PROTO_FOR_ACCESS
							     : PROTO_FOR_INFO;
	uint32_t name_len, count;
	const uint8_t *infos;
	const char *wrong;

	if (h->length < 6) {
		handshake_error(h, NBD_REP_ERR_INVALID,
				"the option is too short");
		return;
	}
	name_len = get_u32(h->data);
	if (name_len > h->length - 6) {
		handshake_error(h, NBD_REP_ERR_INVALID,
				"the name is longer than the option");
		return;
	}
	infos = h->data + 4 + name_len;
	count = get_u16(infos);
	if (h->length - 6 - name_len != 2 * count) {
		handshake_error(h, NBD_REP_ERR_INVALID,
				"the number of requests does not fit");
		return;
	}
	h->infos = 0;
	for (uint32_t i = 1; i <= count; i++) {
		uint16_t info = get_u16(infos + 2 * i);

		if (info <= NBD_INFO_BLOCK_SIZE)
			h->infos |= (uint16_t)(1u << info);
	}
	/* The name's end is marked where the count was. */
	wrong = option_lookup(h, purpose, h->data + 4, name_len);
	if (wrong)
		handshake_error(h, NBD_REP_ERR_INVALID, wrong);
	else
		h->state = HANDSHAKE_LOOKUP;
}

/* ------------------------------------------------------------ the answers */

/* Were contexts selected for the export that is asked for? */
static bool contexts_count(const struct proto_handshake *h)
{
	return h->context_count && h->context_name_len == h->lookup.name_len &&
	       memcmp(h->context_name, h->lookup.name, h->context_name_len) ==
		       0;
}

static void fill_terms(const struct proto_handshake *h,
		       const struct proto_export *export,
		       struct proto_terms *terms)
{
	bool block_size_told = h->option != NBD_OPT_EXPORT_NAME &&
			       h->infos & 1u << NBD_INFO_BLOCK_SIZE;
	uint16_t flags = export->flags | NBD_FLAG_HAS_FLAGS;

	*terms = (struct proto_terms){
		.replies = h->replies,
		.size = export->size,
		.block_min = export->block_min,
		.block_preferred = export->block_preferred,
		.payload_max = export->payload_max,
		.block_size_told = block_size_told,
		.has_session = h->lookup.has_session,
		.session = h->lookup.session,
	};
	if (contexts_count(h)) {
		terms->context_count = h->context_count;
		memcpy(terms->contexts, h->contexts, sizeof(terms->contexts));
	}
	/* What hangs on something else is not offered without it. */
	flags &= (uint16_t) ~(NBD_FLAG_SEND_DF | NBD_FLAG_BLOCK_STATUS_PAYLOAD);
	if (!(flags & NBD_FLAG_SEND_WRITE_ZEROES))
		flags &= (uint16_t)~NBD_FLAG_SEND_FAST_ZERO;
	if (h->replies != PROTO_SIMPLE)
		flags |= NBD_FLAG_SEND_DF;
	if (h->replies == PROTO_EXTENDED && terms->context_count)
		flags |= NBD_FLAG_BLOCK_STATUS_PAYLOAD;
	terms->flags = flags;
}

static void reply_export_name(struct proto_handshake *h)
{
	struct nbd_export_reply reply = {
		.size = htobe64(h->terms.size),
		.flags = htobe16(h->terms.flags),
	};
	size_t len = sizeof(reply);

	if (h->client_flags & NBD_FLAG_C_NO_ZEROES)
		len -= sizeof(reply.zeroes);
	memcpy(h->out + h->out_len, &reply, len);
	h->out_len += len;
	h->state = HANDSHAKE_READY;
}

/* One INFO with a text, if it was asked for. */
static void reply_text(struct proto_handshake *h, enum nbd_info info,
		       const char *text, size_t max)
{
	uint16_t type = htobe16((uint16_t)info);

	if (text && h->infos & 1u << info)
		handshake_reply(h, NBD_REP_INFO, &type, sizeof(type), text,
				text_cut(text, max));
}

static void reply_info(struct proto_handshake *h,
		       const struct proto_export *export,
		       const struct proto_terms *terms)
{
	struct nbd_info_export info = {
		.type = htobe16(NBD_INFO_EXPORT),
		.size = htobe64(terms->size),
		.flags = htobe16(terms->flags),
	};
	struct nbd_info_block_size block = {
		.type = htobe16(NBD_INFO_BLOCK_SIZE),
		.minimum = htobe32(terms->block_min),
		.preferred = htobe32(terms->block_preferred),
		.maximum = htobe32(terms->payload_max),
	};
	const char *name = export->name ? export->name : h->lookup.name;

	handshake_reply(h, NBD_REP_INFO, &info, sizeof(info), NULL, 0);
	reply_text(h, NBD_INFO_NAME, name, PROTO_NAME_MAX);
	reply_text(h, NBD_INFO_DESCRIPTION, export->description,
		   PROTO_DESCRIPTION_MAX);
	if (terms->block_size_told)
		handshake_reply(h, NBD_REP_INFO, &block, sizeof(block), NULL,
				0);
	handshake_ack(h);
}

void option_export_found(struct proto_handshake *h,
			 const struct proto_export *export)
{
	struct proto_terms terms;

	fill_terms(h, export, &terms);
	if (h->option == NBD_OPT_INFO) {
		reply_info(h, export, &terms);
		return;
	}
	h->terms = terms;
	if (h->option == NBD_OPT_EXPORT_NAME) {
		reply_export_name(h);
		return;
	}
	reply_info(h, export, &terms);
	h->state = HANDSHAKE_READY;
}
