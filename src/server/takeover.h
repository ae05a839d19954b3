/* SPDX-License-Identifier: BSD-3-Clause */
/* A device comes back with a higher epoch: every worker closes the connections
 * of its lower ones, then the new connection is let in. */
#ifndef NBDRAM_SERVER_TAKEOVER_H
#define NBDRAM_SERVER_TAKEOVER_H

#include "conn.h"

/* Begin; conn_session_ready() is called on c's worker when no older connection
 * is left (if c is still there). -ENOMEM. */
int takeover_begin(struct conn *c, const struct proto_session *who);

#endif
