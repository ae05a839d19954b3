/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of everything there may be, as the configuration says and the system
 * allows. */
#ifndef NBDRAM_SERVER_SERVER_LIMITS_H
#define NBDRAM_SERVER_SERVER_LIMITS_H

#include "server.h"

/* Take limits from server->config: from now on they are in force. Main
 * thread. */
void limits_apply(struct server *server);

#endif
