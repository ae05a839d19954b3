/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS of the server: what was loaded for new clients, and a connection's way into
 * it. */
#ifndef NBDRAM_SERVER_SECURE_H
#define NBDRAM_SERVER_SECURE_H

#include "conn.h"
#include "tls.h"

/* Load what the configuration asks for; *tls is NULL if that is no TLS. Warnings
 * go to the log, faults are lines in *errors: -EINVAL, -ENOMEM then. */
int secure_load(const struct config *config, struct io_tls **tls,
		struct config_errors *errors);

/* Put it in the place of what is there, which goes on for those that have it.
 * Takes over the count of tls. The main thread's. */
void secure_exchange(struct server *server, struct io_tls *tls);

/* The client was told to go ahead: TLS begins, or goes on. Negative: the
 * connection has to end, conn->why says why. */
int secure_step(struct conn *c);

/* Log that its time for that is over; the connection is about to be closed. */
void secure_too_long(struct conn *c);

#endif
