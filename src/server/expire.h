/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks of templates that nobody has had open for so long are deleted: by a timer
 * of the main thread. */
#ifndef NBDRAM_SERVER_EXPIRE_H
#define NBDRAM_SERVER_EXPIRE_H

#include <event2/event.h>

#include "server.h"

struct expiry;

/* Begin to look; what the pool's notes say of the time before is taken into
 * account. NULL: no memory. */
struct expiry *expiry_start(struct event_base *base, struct server *server);

void expiry_stop(struct expiry *expiry); /* NULL is fine */

#endif
