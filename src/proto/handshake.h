/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the handshake: the object, and what its files need of each other.
 * handshake.c collects bytes and keeps the state, option.c decides which option
 * is taken and runs it; option-export.c and option-meta.c hold those options
 * that need the caller's answer. */
#ifndef NBDRAM_PROTO_HANDSHAKE_H
#define NBDRAM_PROTO_HANDSHAKE_H

#include "proto.h"

/* The longest option that is taken: a name of the longest kind with what stands
 * around it in GO. Contexts of names that exist have room for a dozen queries. */
#define OPTION_DATA_MAX (PROTO_STRING_MAX + 64u)

/* The longest answer to one call: all that INFO tells, or an entry of LIST. */
#define OUTPUT_MAX 1024u

enum handshake_state {
	HANDSHAKE_FLAGS,    /* the client's 32 bits are awaited */
	HANDSHAKE_HEADER,   /* an option's header is */
	HANDSHAKE_DATA,	    /* its data is, to be kept */
	HANDSHAKE_SKIP,	    /* its data is, to be dropped */
	HANDSHAKE_STARTTLS, /* the caller is to secure the stream */
	HANDSHAKE_LOOKUP,   /* the caller is to find an export */
	HANDSHAKE_LIST,	    /* the caller is to list them */
	HANDSHAKE_BITMAPS,  /* the caller is to name snapshots */
	HANDSHAKE_READY,
	HANDSHAKE_ABORT,
	HANDSHAKE_HANGUP,
};

struct proto_handshake {
	enum handshake_state state;
	enum proto_tls tls;
	bool secured;
	bool stopping;
	uint32_t client_flags;

	/* The option that is heard or answered. */
	uint32_t option;
	uint32_t length;      /* of its data, as announced */
	uint32_t left;	      /* SKIP: bytes still to be dropped */
	uint32_t refusal;     /* SKIP: what to answer then, 0: run it */
	const char *why;      /* SKIP: message of the refusal; HANGUP: reason */
	size_t have;	      /* bytes in data */
	const char *in_clear; /* an option that should have come by TLS */
	bool clear_told;      /* ... was there already */
	bool tls_missed;      /* it asked for TLS, and there is none */
	bool tls_told;	      /* ... that was told already */
	uint16_t infos;	      /* INFO, GO: bit n: NBD_INFO n was asked for */
	uint32_t query_count; /* META: queries in data */
	uint32_t query_at;    /* META: where in data the first one stands */
	bool bitmaps_all;     /* META: all snapshots are asked for */
	struct proto_lookup lookup;

	/* What was agreed so far. */
	enum proto_replies replies;
	unsigned context_count;
	struct proto_context contexts[PROTO_CONTEXTS_MAX];
	size_t context_name_len; /* of the export that they are of */
	char context_name[PROTO_NAME_MAX];
	struct proto_terms terms; /* READY */

	size_t out_len;
	uint8_t out[OUTPUT_MAX];
	uint8_t data[OPTION_DATA_MAX + 1]; /* one more to end a string */
	char snapshots[PROTO_CONTEXTS_MAX][PROTO_NAME_MAX + 1];
};

/* ----------------------------------------------- handshake.c: for options */

/* Queue one answer to the option: header, then len bytes of data that come
 * together from two places. The caller knows that there is room. */
void handshake_reply(struct proto_handshake *h, uint32_t rep, const void *head,
		     size_t head_len, const void *tail, size_t tail_len);

/* Is there room for an answer with that much data? */
bool handshake_room(const struct proto_handshake *h, size_t data_len);

/* Queue the last answer to the option; the next one may come. */
void handshake_ack(struct proto_handshake *h);
void handshake_error(struct proto_handshake *h, uint32_t rep, const char *text);

/* Answer nothing and end it. `why` is a fixed text. */
void handshake_hangup(struct proto_handshake *h, const char *why);

/* --------------------------------------------------------------- option.c */

/* A header was read (option, length): decide what becomes of the data. */
void option_begin(struct proto_handshake *h);

/* The data is there, or was dropped. */
void option_run(struct proto_handshake *h);

/* -------------------------------------------------------- option-export.c */

void option_export_name(struct proto_handshake *h);
void option_info(struct proto_handshake *h); /* and GO */

/* The caller has found the export. */
void option_export_found(struct proto_handshake *h,
			 const struct proto_export *export);

/* Make h->lookup from the name_len bytes at name, which lie in h->data with one
 * more byte behind them that may be overwritten. NULL, or what is wrong. */
const char *option_lookup(struct proto_handshake *h, enum proto_purpose purpose,
			  uint8_t *name, size_t name_len);

/* ---------------------------------------------------------- option-meta.c */

void option_meta(struct proto_handshake *h); /* LIST and SET */
void option_meta_found(struct proto_handshake *h);
void option_meta_forget(struct proto_handshake *h); /* nothing is selected */

#endif
