/* SPDX-License-Identifier: BSD-3-Clause */
/* What the bytes of a connection mean: input into options, requests and
 * payloads. Functions that return int give a negative value when the connection
 * has to end; conn->why then says why. */
#ifndef NBDRAM_SERVER_STREAM_H
#define NBDRAM_SERVER_STREAM_H

#include "conn.h"

/* Read once and use what came. */
int stream_read(struct conn *c);

/* Use n bytes at buf as far as that goes now; the rest is stashed. */
int stream_use(struct conn *c, const uint8_t *buf, size_t n);

/* The same with what was stashed. */
int stream_use_stash(struct conn *c);

/* The store may be able now: repeat what was parked, go on if stalled. */
int stream_resume(struct conn *c);

/* It is over for one that holds landing which others wait for, and has sent
 * nothing for a while. 1: not quite, for there was something to read. */
int stream_hoard(struct conn *c);

/* Drop what is under way, without effect and without an answer. */
void stream_drop(struct conn *c);

/* Answer a write that is through, or whatever has waited for too long. */
int stream_answer(struct conn *c, const struct proto_request *request,
		  int error);

/* There is no memory for what it is to be answered. */
int stream_no_memory(struct conn *c);

/* Note why it is over; returns a negative value. */
int stream_end(struct conn *c, const char *why);

/* In conn.c: the handshake is over, one way or other; enough is queued. */
void conn_handshake_over(struct conn *c);
bool conn_full(const struct conn *c);

#endif
