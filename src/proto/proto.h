/* SPDX-License-Identifier: BSD-3-Clause */
/* The NBD protocol as bytes in and items out: the only header of the codec that
 * other rooms see (nbd.h has the constants).
 *
 * Nothing here waits, allocates (but for one handshake object), reads a clock
 * or knows a socket or a disk. A handshake object belongs to one connection and
 * is used by one thread at a time; all other functions are pure and work on the
 * caller's buffers. Lengths, offsets and sizes are bytes. Errors are negative
 * errno values; proto_error() alone turns them into numbers of the wire. */
#ifndef NBDRAM_PROTO_H
#define NBDRAM_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nbd.h"

#define PROTO_NAME_MAX 255u /* bytes of the name of an export or snapshot */
#define PROTO_DESCRIPTION_MAX 512u /* bytes; longer ones are cut */
#define PROTO_TEXT_MAX 255u    /* bytes of an error's message; cut likewise */
#define PROTO_STRING_MAX 4096u /* bytes of the longest string on the wire */
#define PROTO_PAYLOAD_MAX (UINT32_C(64) << 20) /* what the server announces */
#define PROTO_CONTEXTS_MAX 8u		       /* that a client may select */

/* Transmission flags that fit every disk of ours; the codec adds HAS_FLAGS, and
 * DF and BLOCK_STATUS_PAYLOAD where they were negotiated. */
#define PROTO_FLAGS_READONLY                                            \
	(NBD_FLAG_READ_ONLY | NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_FUA | \
	 NBD_FLAG_CAN_MULTI_CONN | NBD_FLAG_SEND_CACHE)
#define PROTO_FLAGS_WRITABLE                                            \
	(NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_FUA | NBD_FLAG_SEND_TRIM | \
	 NBD_FLAG_SEND_WRITE_ZEROES | NBD_FLAG_SEND_FAST_ZERO |         \
	 NBD_FLAG_CAN_MULTI_CONN | NBD_FLAG_SEND_CACHE)

/* ----------------------------------------------------------------- terms */

enum proto_replies {
	PROTO_SIMPLE,
	PROTO_STRUCTURED,
	PROTO_EXTENDED, /* with the long headers in both directions */
};

enum proto_context_kind {
	PROTO_ALLOCATION, /* base:allocation; NBD_STATE_HOLE, NBD_STATE_ZERO */
	PROTO_DEPTH,	  /* qemu:allocation-depth; 0, 1 or 2 */
	PROTO_BITMAP,	  /* qemu:dirty-bitmap:SNAPSHOT; NBD_STATE_DIRTY */
};

struct proto_context {
	uint32_t id; /* what the client calls it; never 0 */
	enum proto_context_kind kind;
};

/* What a server says to a session with a lower epoch than it has heard of, as the
 * text of ERR_POLICY: clients tell it from other refusals by these words. */
#define PROTO_TEXT_EPOCH "the session has a higher epoch already"

/* A device's session, from an export name that ends in ;s=UUID.EPOCH. */
struct proto_session {
	uint8_t uuid[16]; /* in the order in which it is written */
	uint64_t epoch;
};

/* What the two ends agreed on: plain data, filled when the handshake is READY
 * and read-only from then on. */
struct proto_terms {
	enum proto_replies replies;
	uint16_t flags;		  /* NBD_FLAG_..., as the client was told */
	uint64_t size;		  /* as the client was told; may grow later */
	uint32_t block_min;	  /* requests must be aligned to it; 1: any */
	uint32_t block_preferred; /* told, never enforced */
	uint32_t payload_max;	  /* bytes in one WRITE or READ; enforced */
	bool block_size_told;	  /* the client asked for the three above */
	bool has_session;
	struct proto_session session; /* valid if has_session */
	unsigned context_count;	      /* 0: BLOCK_STATUS is refused */
	struct proto_context contexts[PROTO_CONTEXTS_MAX];
};

/* ------------------------------------------------------------- handshake */

/* How a connection goes:
 *
 *	h = proto_handshake_new(tls, secured);
 *	for (;;) {
 *		event = proto_handshake_feed(h, in, n, &used);
 *		in += used, n -= used;
 *		... by event, below; MORE: wait until there are more bytes
 *	}
 *
 * While output waits, the answer is SEND and no input is used; so what an event
 * means for the stream (start TLS, transmission) begins exactly behind the
 * bytes that were taken before it. n may be 0. An event that asks the caller
 * for something is repeated, with nothing used, until it has been answered,
 * which may be much later. */
enum proto_event {
	/* All input was used. Feed more. */
	PROTO_MORE,
	/* Take proto_handshake_output(), then feed on. */
	PROTO_SEND,
	/* The client wants TLS and was told to go ahead. If input is left over,
	 * or is waiting in the socket's buffer in clear and was read already,
	 * close: nobody may speak before the TLS handshake. Else do the TLS
	 * handshake, then proto_handshake_secured(), then feed on. */
	PROTO_STARTTLS,
	/* An export is asked for: see proto_handshake_lookup(). Answer by
	 * proto_handshake_found() or proto_handshake_refuse(). */
	PROTO_LOOKUP,
	/* The client wants the list of exports. Call proto_handshake_list_item()
	 * for each one that it may see, then proto_handshake_list_end(); or
	 * proto_handshake_refuse(). */
	PROTO_LIST,
	/* The client is interested in qemu:dirty-bitmap:... of the export that
	 * was just found. Call proto_handshake_bitmap() for each snapshot that
	 * the export can be compared with, or only for those that were asked
	 * for by name, then proto_handshake_bitmaps_end().
	 * proto_handshake_lookup() is valid still. */
	PROTO_BITMAPS,
	/* Terms are agreed, proto_handshake_terms(); what input is left over
	 * are requests already. Final. */
	PROTO_READY,
	/* The client ended it in the way it should. Close. Final. */
	PROTO_ABORT,
	/* It cannot go on: proto_handshake_reason() says why. Close. Final. */
	PROTO_HANGUP,
};

enum proto_tls {
	PROTO_TLS_OFF,	   /* STARTTLS is refused */
	PROTO_TLS_ON,	   /* for who wants it, and for exports that need it */
	PROTO_TLS_REQUIRE, /* nothing else is answered before it */
};

struct proto_handshake; /* under 8 KiB */

/* The object for one connection, its greeting ready to be sent. `secured`: the
 * stream is inside TLS from the first byte. Free it by proto_handshake_free(),
 * best as soon as the terms were copied. NULL: no memory. */
struct proto_handshake *proto_handshake_new(enum proto_tls tls, bool secured);
void proto_handshake_free(struct proto_handshake *h); /* NULL is fine */

/* Use up to n bytes of what the client sent; *used says how many. At most a few
 * hundred bytes of output come from one call. */
enum proto_event proto_handshake_feed(struct proto_handshake *h, const void *in,
				      size_t n, size_t *used);

/* What is to be sent, *len bytes (0: nothing): valid until the next call that
 * takes h but for this one. Then say how many of them were taken (any number up
 * to *len; the rest stays). */
const void *proto_handshake_output(const struct proto_handshake *h,
				   size_t *len);
void proto_handshake_sent(struct proto_handshake *h, size_t n);

/* After STARTTLS: the stream is secured. Everything heard before is forgotten:
 * the next thing that the client may say is an option. */
void proto_handshake_secured(struct proto_handshake *h);

/* From now on every option but ABORT is answered by ERR_SHUTDOWN (or a hangup,
 * for EXPORT_NAME); one that waits for the caller still may be answered. */
void proto_handshake_stop(struct proto_handshake *h);

enum proto_purpose {
	PROTO_FOR_INFO,	  /* to tell about it; must change nothing */
	PROTO_FOR_META,	  /* to tell about its contexts; must change nothing */
	PROTO_FOR_ACCESS, /* to use it: GO or EXPORT_NAME */
};

struct proto_lookup {
	enum proto_purpose purpose;
	/* As the client wrote it, without the session; ended by a 0, none in
	 * between, up to PROTO_STRING_MAX bytes of any other kind (escape it in
	 * logs). "" is the default export. */
	const char *name;
	size_t name_len;
	bool has_session;
	struct proto_session session; /* valid if has_session */
	bool secured;		      /* the question came through TLS */
	const char *option;	      /* for logs: "GO" and so on */
};

/* What is asked for; valid from LOOKUP (and BITMAPS) until the answer. */
const struct proto_lookup *proto_handshake_lookup(
	const struct proto_handshake *h);

/* What the client learns of an export. Copied before the call returns. */
struct proto_export {
	const char *name;	 /* its own name; NULL: as it was asked for */
	const char *description; /* NULL: none */
	uint64_t size;
	uint16_t flags;	    /* PROTO_FLAGS_... or a selection of NBD_FLAG_ */
	uint32_t block_min; /* power of two, 1 to 64 KiB */
	uint32_t block_preferred; /* power of two, at least 512 and block_min */
	uint32_t payload_max;	  /* a multiple of block_min */
};

/* Answer LOOKUP: here it is. For PROTO_FOR_ACCESS the client is in from now on
 * (READY follows when the output was taken). */
void proto_handshake_found(struct proto_handshake *h,
			   const struct proto_export *export);

/* Answer LOOKUP, LIST or BITMAPS: no, `rep` being one of NBD_REP_ERR_... (UNKNOWN: there
 * is none; TLS_REQD: not in clear; POLICY, SHUTDOWN, ...) and text a message
 * for a person, or NULL; copied. The client may go on with other options, but
 * for EXPORT_NAME, which cannot be answered: HANGUP follows. TLS_REQD becomes
 * UNKNOWN where the protocol does not allow it, so a caller that refuses names
 * in clear always says TLS_REQD. */
void proto_handshake_refuse(struct proto_handshake *h, uint32_t rep,
			    const char *text);

/* Answer LIST: one export; description may be NULL. -EAGAIN: no room, take the
 * output and call again; else 0. */
int proto_handshake_list_item(struct proto_handshake *h, const char *name,
			      const char *description);
void proto_handshake_list_end(struct proto_handshake *h);

/* Answer BITMAPS: one snapshot. -EAGAIN as above; 0, whether or not it was asked
 * for; or, when the client has selected it, one more than the index that it has
 * among the contexts of the terms. What an earlier option selected is void
 * then. */
int proto_handshake_bitmap(struct proto_handshake *h, const char *snapshot);
/* While BITMAPS waits: whether all snapshots are asked for. If not, those that
 * are: the next name, each one once, into name (PROTO_NAME_MAX + 1 bytes); *at
 * is 0 at first. False: that was all. */
bool proto_handshake_bitmaps_all(const struct proto_handshake *h);
bool proto_handshake_bitmap_asked(const struct proto_handshake *h, uint32_t *at,
				  char *name);
void proto_handshake_bitmaps_end(struct proto_handshake *h);

/* After READY: the terms, and for contexts[index] of kind PROTO_BITMAP the name
 * of its snapshot (NULL for others). Both live as long as h. */
const struct proto_terms *proto_handshake_terms(
	const struct proto_handshake *h);
const char *proto_handshake_snapshot(const struct proto_handshake *h,
				     unsigned index);

/* Where TLS is required: the first option that was refused since it came in
 * clear ("GO"), for the log; each handshake tells of one, and once. NULL: none
 * since the last call. */
const char *proto_handshake_in_clear(struct proto_handshake *h);

/* Whether the client has asked for TLS where there is none, for the log; true at
 * most once for each handshake. */
bool proto_handshake_tls_missed(struct proto_handshake *h);

/* After HANGUP: why, for the log; a fixed text. */
const char *proto_handshake_reason(const struct proto_handshake *h);

/* -------------------------------------------------------------- requests */

struct proto_request {
	uint64_t cookie;   /* eight opaque bytes, as they came */
	uint64_t offset;   /* first byte of the range */
	uint64_t length;   /* bytes of the range */
	uint64_t payload;  /* bytes that follow the header on the wire */
	uint16_t command;  /* NBD_CMD_..., or any other number */
	uint16_t flags;	   /* NBD_CMD_FLAG_... */
	uint32_t contexts; /* BLOCK_STATUS: bit i is contexts[i] of the terms */
};

#define PROTO_REQUEST_MAX 32u /* bytes of the longest header */

/* One request's header from n bytes at buf: the bytes used (28 or 32), 0 when n
 * is too few, -EPROTO when it is no header (close the connection: where the
 * next one begins is unknown). */
int proto_parse_request(const struct proto_terms *terms, const void *buf,
			size_t n, struct proto_request *request);

/* May this request be executed on an export of `size` bytes (its size now)? To
 * be asked before the payload is received and before anything is allocated.
 * 0: yes; what was checked need not be checked again: command, flags, range
 *	and length are in order, and a payload is at most terms->payload_max.
 * -ECONNABORTED: no, and close the connection.
 * Any other: no; receive and drop request->payload bytes, then answer this
 *	error.
 * *text is set with every error: a fixed message for a person. */
int proto_check_request(const struct proto_terms *terms, uint64_t size,
			struct proto_request *request, const char **text);

/* Most that the payload of a legal BLOCK_STATUS request has. */
#define PROTO_STATUS_PAYLOAD_MAX (8u + 4u * PROTO_CONTEXTS_MAX)

/* A legal BLOCK_STATUS request whose payload is not 0: complete it (length,
 * contexts) from its request->payload bytes at buf and check the range. 0, or
 * -EINVAL with *text set. */
int proto_parse_status(const struct proto_terms *terms, const void *buf,
		       uint64_t size, struct proto_request *request,
		       const char **text);

/* --------------------------------------------------------------- replies */

/* Each function writes one header (of a reply or chunk, with what belongs to it)
 * to buf and returns its length, at most PROTO_REPLY_MAX; what data it announces
 * must follow at once. Of the request only cookie, offset and command are
 * looked at. `last`: no further chunk follows for this request. */
#define PROTO_REPLY_MAX (32u + 6u + PROTO_TEXT_MAX + 8u)

/* The request was done; nothing more to say. */
size_t proto_put_ack(const struct proto_terms *terms,
		     const struct proto_request *request, void *buf);

/* The request failed: err is a negative errno, text a message for a person or
 * NULL (simple replies have no place for it). Always the last chunk. */
size_t proto_put_error(const struct proto_terms *terms,
		       const struct proto_request *request, int err,
		       const char *text, void *buf);

/* The request failed at this offset of the export. Not for simple replies. */
size_t proto_put_error_at(const struct proto_terms *terms,
			  const struct proto_request *request, int err,
			  const char *text, uint64_t off, bool last, void *buf);

/* A READ: len bytes from off follow. In simple replies that is the whole range
 * of the request, once. len is not 0. */
size_t proto_put_data(const struct proto_terms *terms,
		      const struct proto_request *request, uint64_t len,
		      uint64_t off, bool last, void *buf);

/* A READ: len bytes from off are zeroes, nothing follows. Neither for simple
 * replies nor under NBD_CMD_FLAG_DF. len is not 0. */
size_t proto_put_hole(const struct proto_terms *terms,
		      const struct proto_request *request, uint32_t len,
		      uint64_t off, bool last, void *buf);

/* The end of a structured or extended reply whose chunks were none of them the
 * last one. */
size_t proto_put_done(const struct proto_terms *terms,
		      const struct proto_request *request, void *buf);

/* A BLOCK_STATUS: `count` extents of one context follow, each written by
 * proto_put_extent(). count is 1 to PROTO_EXTENTS_MAX, and 1 under
 * NBD_CMD_FLAG_REQ_ONE. Not for simple replies. */
#define PROTO_EXTENTS_MAX (UINT32_C(1) << 20)
size_t proto_put_status(const struct proto_terms *terms,
			const struct proto_request *request,
			const struct proto_context *context, uint32_t count,
			bool last, void *buf);

/* One extent: len is 1 to proto_extent_max(). */
#define PROTO_EXTENT_SIZE_MAX 16u
size_t proto_put_extent(const struct proto_terms *terms, uint64_t len,
			uint32_t flags, void *buf);

/* The longest extent that fits; a longer one is to be cut to this, which is a
 * multiple of 64 KiB. */
uint64_t proto_extent_max(const struct proto_terms *terms);

/* The number on the wire for an errno, negative or positive; 0 stays 0. What
 * the protocol has no number for is NBD_EIO. */
uint32_t proto_error(int err);

/* ----------------------------------------------------------------- names */

/* For logs; a fixed text, "unknown" where there is none. */
const char *proto_option_name(uint32_t option);	  /* "GO" */
const char *proto_rep_name(uint32_t rep);	  /* "ERR_UNKNOWN" */
const char *proto_info_name(uint32_t info);	  /* "BLOCK_SIZE" */
const char *proto_command_name(uint32_t command); /* "READ" */
const char *proto_reply_type_name(uint32_t type); /* "OFFSET_DATA" */
const char *proto_error_name(uint32_t error);	  /* "ENOSPC" */
const char *proto_event_name(enum proto_event event);
const char *proto_replies_name(enum proto_replies replies); /* "structured" */

/* Flags as words with commas between, "0" for none and 0x... for bits without
 * a name; cut to len bytes, the final 0 included. Returns buf. */
#define PROTO_FLAGS_TEXT_MAX 192u /* what any value fits into */
char *proto_transmission_flags_text(uint32_t flags, char *buf, size_t len);
char *proto_command_flags_text(uint32_t flags, char *buf, size_t len);
char *proto_handshake_flags_text(uint32_t flags, char *buf, size_t len);

#endif
