/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake of a connection. */
#ifndef NBDRAM_SERVER_HANDSHAKE_H
#define NBDRAM_SERVER_HANDSHAKE_H

#include "conn.h"

/* Use up to n bytes; *used says how many. The state may be another afterwards.
 * Negative: the connection has to end, conn->why says why. */
int handshake_use(struct conn *c, const uint8_t *buf, size_t n, size_t *used);

/* The session that was waited for is free now. Negative as above. */
int handshake_session_ready(struct conn *c);

/* A template has made the disk that it waits for, or says why not. Negative as
 * above. */
struct making_answer;
int handshake_made(struct conn *c, const struct making_answer *answer);

/* The name of the export that is asked for just now. */
const char *handshake_name(const struct conn *c);

/* Somebody may have left the export that has no place (wants_place). Negative as
 * above. */
int handshake_place_again(struct conn *c);

/* There is room for more of what it asked for (wants_room). Negative as above. */
int handshake_room_again(struct conn *c);

/* Queue what the codec wants to send. Negative as above. */
int handshake_queue(struct conn *c);

/* It no longer has an export. */
void handshake_leave_export(struct conn *c);

#endif
