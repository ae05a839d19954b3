/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads of writes on their way: received into landing blocks, which are taken
 * as bytes come. All functions: the worker's thread. */
#ifndef NBDRAM_SERVER_PAYLOAD_H
#define NBDRAM_SERVER_PAYLOAD_H

#include "conn.h"

/* A place for the next bytes of c's payload, in front of c->payload. 0; -EAGAIN,
 * -ENOSPC, -ENOMEM, or what the disk says: nothing has changed. */
int payload_stage(struct conn *c);

/* Whether the next bytes have no place yet. */
bool payload_wants_stage(const struct conn *c);

/* How much of a write takes effect together: all of it, or a piece that ends where a
 * block ends. */
uint64_t payload_piece(const struct conn *c);

/* Where the next bytes go: at most `most` pieces of memory, how many there are. */
int payload_place(const struct conn *c, struct iovec *iov, int most);

/* Copy as much of n bytes there as there is a place for; how much. The caller
 * counts it. */
size_t payload_copy(struct conn *c, const uint8_t *buf, size_t n);

/* All of a write's payload, which is in memory, to a place where it can wait. NULL:
 * there is none. */
struct payload *payload_keep(struct conn *c, const uint8_t *buf);

/* Bytes that have been published of a payload (NULL: 0). */
uint64_t payload_done(const struct payload *payload);

/* Give it back, what was not published with no effect. NULL is fine. */
void payload_free(struct conn *c, struct payload *payload);

/* One connection at a time may use the last piece of landing, until its own is
 * whole. */
void payload_end_turn(struct conn *c);

#endif
