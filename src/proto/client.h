/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's side of the handshake: asks about one export (INFO) or opens it
 * (GO), and falls back on EXPORT_NAME where a server knows neither. Bytes in, one
 * event out, as proto.h has it for the server's side; never reads past the last
 * answer, so that what follows is the kernel's. */
#ifndef NBDRAM_PROTO_CLIENT_H
#define NBDRAM_PROTO_CLIENT_H

#include "proto.h"

/* ;s=UUID.EPOCH with a 64-bit epoch. */
#define PROTO_SESSION_TEXT_MAX (3u + 36u + 1u + 20u)

enum proto_client_event {
	/* Send proto_client_output(), then feed what comes. */
	PROTO_CLIENT_MORE,
	/* The server is ready for TLS: do its handshake, then
	 * proto_client_secured(), and send and feed on. */
	PROTO_CLIENT_STARTTLS,
	/* proto_client_terms() are there. Final; but send what output there is
	 * (a farewell, if the export was asked about and not opened). */
	PROTO_CLIENT_READY,
	/* The server has said no: proto_client_refusal(). Final; output as
	 * above. */
	PROTO_CLIENT_REFUSED,
	/* What comes is not what the protocol has: proto_client_reason(). Final;
	 * close. */
	PROTO_CLIENT_BROKEN,
};

struct proto_client_wish {
	const char
		*name; /* of the export, up to PROTO_STRING_MAX bytes in all */
	bool open;     /* GO; else INFO, which changes nothing there */
	bool tls;      /* STARTTLS before anything else, or nothing */
	const struct proto_session *session; /* with open; NULL: none */
};

/* What the server has told. */
struct proto_client_terms {
	uint64_t size;
	uint16_t flags;	      /* NBD_FLAG_... of transmission */
	bool opened;	      /* requests may follow: GO, or no other way */
	bool block_size_told; /* else these are the protocol's defaults */
	uint32_t block_min, block_preferred, payload_max;
	char name[PROTO_STRING_MAX + 1]; /* its own; "": it has not said */
	char description[PROTO_STRING_MAX + 1];
};

struct proto_client_refusal {
	uint32_t option;
	uint32_t rep;		   /* NBD_REP_ERR_... */
	char text[PROTO_TEXT_MAX]; /* its words, cut; escape them. "": none */
};

/* How many pieces of information are taken for one question: a server has a handful. */
#define PROTO_CLIENT_INFOS_MAX 64u
/* Longest answer that is taken: a string with its type, or an export's. */
#define PROTO_CLIENT_DATA_MAX (PROTO_STRING_MAX + 2u)
/* The longest that is sent at one time: the answer to the greeting, and INFO. */
#define PROTO_CLIENT_OUT_MAX (4u + 16u + 4u + PROTO_STRING_MAX + 2u + 3u * 2u)

/* One handshake; the fields are the codec's own. */
struct proto_client {
	int state;
	bool open, tls, zeroes;
	uint32_t option; /* that was sent last */
	uint32_t type, length;
	unsigned infos; /* that came for it */
	size_t name_len;
	size_t have, want; /* bytes in data, and how many they must become */
	size_t out_len;
	bool has_export;
	const char *reason; /* BROKEN */
	struct proto_client_refusal refusal;
	struct proto_client_terms terms;
	char name[PROTO_STRING_MAX + PROTO_SESSION_TEXT_MAX + 1];
	uint8_t data[PROTO_CLIENT_DATA_MAX];
	uint8_t out[PROTO_CLIENT_OUT_MAX];
};

/* False: the name is too long, with its session, or has a ; in front of one. */
bool proto_client_init(struct proto_client *c,
		       const struct proto_client_wish *wish);

/* Bytes that must come before the next event; never read more of them than
 * this from the stream. 0 after a final event. */
size_t proto_client_wants(const struct proto_client *c);

/* n is at most what it wants. */
enum proto_client_event proto_client_feed(struct proto_client *c,
					  const void *in, size_t n);

/* What is to be sent, all of it; then it is forgotten by the next call of
 * proto_client_sent(). */
const void *proto_client_output(const struct proto_client *c, size_t *len);
void proto_client_sent(struct proto_client *c);

void proto_client_secured(struct proto_client *c);

const struct proto_client_terms *proto_client_terms(
	const struct proto_client *c);
const struct proto_client_refusal *proto_client_refusal(
	const struct proto_client *c);
const char *proto_client_reason(const struct proto_client *c);

/* A request to disconnect, the polite end of transmission, into buf (28 bytes). */
#define PROTO_DISC_SIZE 28u
void proto_put_disc(void *buf);

#endif
