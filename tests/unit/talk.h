/* SPDX-License-Identifier: BSD-3-Clause */
/* A conversation with the codec's handshake: what a client says and what must
 * come back, byte by byte, written down by hand. */
#ifndef NBDRAM_TESTS_TALK_H
#define NBDRAM_TESTS_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto.h"

/* Bytes as text: hexadecimal digits in pairs, blanks anywhere between, 'text'
 * for characters, and *N behind a pair to repeat it: "0000 'disk' 00*124". The
 * length; fails the test when size is too small. */
size_t bytes_of(const char *text, uint8_t *buf, size_t size);

/* What the server of these conversations has:
 * "disk"    1 GiB, "a disk"; the default export too
 * "ro"      4 KiB, read-only, no description
 * "secret"  512 bytes, only through TLS
 * "busy"    refused with ERR_POLICY and "in use"
 * Each of them has the snapshots "before" and "after", or what the setup says. */
struct talk_setup {
	enum proto_tls tls;
	bool secured;
	bool stopping;		   /* stop when the greeting is out */
	unsigned unanswered;	   /* ask so often before each answer */
	unsigned list_count;	   /* LIST has so many more, "more-0"... */
	unsigned snapshot_count;   /* so many more, "snapshot-0"... */
	const char *only_snapshot; /* instead of the usual ones */
	const char *description;   /* of "disk", instead of the usual one */
};

struct talk {
	struct talk_setup setup;
	struct proto_handshake *h;
	uint8_t out[1 << 20];
	size_t out_len;
	char events[8192]; /* but for MORE and SEND: "LOOKUP(GO disk) READY" */
	size_t used;
	enum proto_event last;
};

/* Feed n bytes at in, at most `step` at once, and answer as told above. The
 * first time a handshake is made. Stops at a final event. */
void talk_feed(struct talk *t, const uint8_t *in, size_t n, size_t step);

/* Free the handshake and forget the result, so that it can begin again. */
void talk_end(struct talk *t);

/* One conversation in all ways to cut it: whole, byte by byte, and in two at
 * every place. `in` follows the client's flags, which are fixed newstyle and no
 * zeroes, and `out` the server's greeting. */
void talk_check(const struct talk_setup *setup, const char *in, const char *out,
		const char *events);

/* The same with the client's flags and the server's greeting in the texts. */
void talk_check_all(const struct talk_setup *setup, const char *in,
		    const char *out, const char *events);

/* An option's header, and an answer's: name the number in hexadecimal. */
#define OPTION(number, length) " 49484156454f5054 000000" number " " length " "
#define ANSWER(number, rep, length) \
	" 0003e889045565a9 000000" number " " rep " " length " "

/* Answers that are the same in many conversations. */
#define ACK(number) ANSWER(number, "00000001", "00000000")
#define GREETING " 4e42444d41474943 49484156454f5054 0003 "

#endif
