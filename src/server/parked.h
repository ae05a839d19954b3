/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that the store has put off, and how long a request may wait.
 *
 * A request may wait for memory as long as [pool] full says in all, however many
 * pieces it has and however often it waits. Time that its bytes spent in the socket
 * counts, while the connection read nothing because it was short of memory itself:
 * what a client has sent together is answered together. All functions: the worker's thread. */
#ifndef NBDRAM_SERVER_PARKED_H
#define NBDRAM_SERVER_PARKED_H

#include "conn.h"

/* A request's header is taken: its clock begins. */
void wait_begin(struct conn *c);

/* Whether the request in c may wait (longer), given what the store answered:
 * memory is on its way, or somebody may give some back while there is time. What is
 * not loaded yet (-EINPROGRESS) is waited for as long as it takes. */
bool wait_worth(const struct conn *c, int error);

/* The stream stands still, and goes on: its request waits meanwhile. */
void wait_stall(struct conn *c);
void wait_unstall(struct conn *c);

/* Nothing is read any more, or is read again, since memory is missing; and all that
 * the socket had has been read. */
void wait_blocked(struct conn *c, bool blocked);
void wait_drained(struct conn *c);

/* Put c's request off: of a write, all of its payload, which is taken over; of a
 * trim or zeroing, how far it came. Negative: no memory (payload is freed). */
int parked_add(struct conn *c, struct payload *payload, uint64_t cursor);

/* Repeat all that are parked; what is through, or has waited for too long, is
 * answered. Negative: the connection is over. */
int parked_repeat(struct conn *c);

/* Drop them, without effect and without an answer. */
void parked_drop(struct conn *c);

/* Too many: read no more. */
bool parked_full(const struct conn *c);

#endif
