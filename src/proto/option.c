/* SPDX-License-Identifier: BSD-3-Clause */
/* Options by number: which are taken in which situation, and those that need
 * nobody's answer. Each is one short function in the table below. */
#include "handshake.h"

#include <string.h>

#include "check.h"

/* The client's data is dropped by now, whatever it was. */
static void option_abort(struct proto_handshake *h)
{
	handshake_ack(h);
	h->state = HANDSHAKE_ABORT;
}

static void option_list(struct proto_handshake *h)
{
	h->state = HANDSHAKE_LIST;
}

static void option_starttls(struct proto_handshake *h)
{
	if (h->secured) {
		handshake_error(h, NBD_REP_ERR_INVALID, "TLS is there already");
	} else if (h->tls == PROTO_TLS_OFF) {
		handshake_error(h, NBD_REP_ERR_POLICY,
				"this server has no TLS for you");
		h->tls_missed = true;
	} else {
		handshake_ack(h);
		h->state = HANDSHAKE_STARTTLS;
	}
}

static void option_structured_reply(struct proto_handshake *h)
{
	if (h->replies == PROTO_EXTENDED) {
		handshake_error(h, NBD_REP_ERR_EXT_HEADER_REQD,
				"extended headers were agreed on already");
		return;
	}
	h->replies = PROTO_STRUCTURED;
	handshake_ack(h);
}

static void option_extended_headers(struct proto_handshake *h)
{
	h->replies = PROTO_EXTENDED;
	handshake_ack(h);
}

enum {
	NO_DATA = 1,	/* refused when it has any */
	ANY_DATA = 2,	/* has none; what comes is dropped */
	IN_CLEAR = 4,	/* even where TLS is required */
	OLDSTYLE = 8,	/* even from clients without fixed newstyle */
	LAST = 16,	/* even when the server is about to stop */
	NO_ANSWER = 32, /* cannot be refused but by hanging up */
};

struct option {
	void (*run)(struct proto_handshake *h);
	unsigned flags;
};

static const struct option options[] = {
	[NBD_OPT_EXPORT_NAME] = {option_export_name, OLDSTYLE | NO_ANSWER},
	[NBD_OPT_ABORT] = {option_abort, ANY_DATA | IN_CLEAR | OLDSTYLE | LAST},
	[NBD_OPT_LIST] = {option_list, NO_DATA},
	[NBD_OPT_STARTTLS] = {option_starttls, NO_DATA | IN_CLEAR},
	[NBD_OPT_INFO] = {option_info, 0},
	[NBD_OPT_GO] = {option_info, 0},
	[NBD_OPT_STRUCTURED_REPLY] = {option_structured_reply, NO_DATA},
	[NBD_OPT_LIST_META_CONTEXT] = {option_meta, 0},
	[NBD_OPT_SET_META_CONTEXT] = {option_meta, 0},
	[NBD_OPT_EXTENDED_HEADERS] = {option_extended_headers, NO_DATA},
};

static const struct option *option_of(const struct proto_handshake *h)
{
	static const struct option unknown = {NULL, ANY_DATA};

	if (h->option >= ARRAY_SIZE(options) || !options[h->option].run)
		return &unknown;
	return &options[h->option];
}

/* Why the option is not taken, from what its header says: an NBD_REP_ERR_...
 * with a text, or 0. */
static uint32_t refusal(const struct proto_handshake *h,
			const struct option *option, const char **why)
{
	if (h->stopping && !(option->flags & LAST)) {
		*why = "the server is about to stop";
		return NBD_REP_ERR_SHUTDOWN;
	}
	/* Such a client must not be told of TLS either. */
	if (!(h->client_flags & NBD_FLAG_C_FIXED_NEWSTYLE) &&
	    !(option->flags & OLDSTYLE)) {
		*why = "options need the fixed newstyle handshake";
		return NBD_REP_ERR_INVALID;
	}
	if (h->tls == PROTO_TLS_REQUIRE && !h->secured &&
	    !(option->flags & IN_CLEAR)) {
		*why = "TLS comes first on this server";
		return NBD_REP_ERR_TLS_REQD;
	}
	if (!option->run) {
		*why = "this server does not know the option";
		return NBD_REP_ERR_UNSUP;
	}
	if (option->flags & NO_DATA && h->length) {
		*why = "this option has no data";
		return NBD_REP_ERR_INVALID;
	}
	if (!(option->flags & ANY_DATA) && h->length > OPTION_DATA_MAX) {
		*why = "the option is too long";
		return NBD_REP_ERR_TOO_BIG;
	}
	return 0;
}

void option_begin(struct proto_handshake *h)
{
	const struct option *option = option_of(h);

	/* What was selected before is void even if this fails. */
	if (h->option == NBD_OPT_SET_META_CONTEXT)
		option_meta_forget(h);
	h->why = NULL;
	h->refusal = refusal(h, option, &h->why);
	if (h->refusal == NBD_REP_ERR_TLS_REQD && !h->clear_told) {
		h->in_clear = proto_option_name(h->option);
		h->clear_told = true;
	}
	if (h->refusal && option->flags & NO_ANSWER) {
		handshake_hangup(h, h->why);
		return;
	}
	h->left = h->length;
	h->state = h->refusal || option->flags & ANY_DATA ? HANDSHAKE_SKIP
							  : HANDSHAKE_DATA;
	/* Nothing more to wait for. */
	if (h->length == 0)
		option_run(h);
}

void option_run(struct proto_handshake *h)
{
	if (h->refusal)
		handshake_error(h, h->refusal, h->why);
	else
		option_of(h)->run(h);
}
