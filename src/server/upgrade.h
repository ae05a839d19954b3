/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGUSR2: the program is started once more, from where it lies now, and takes over
 * listeners, control socket and pool, while this process goes on serving until the
 * other is ready, and goes on for good if that does not come to it. The words
 * between the two are in predecessor.h. The main thread's. */
#ifndef NBDRAM_SERVER_UPGRADE_H
#define NBDRAM_SERVER_UPGRADE_H

#include <event2/event.h>

#include "control-socket.h"
#include "handover.h"
#include "server.h"

struct upgrade;

/* argv: as main() has it, and as the other gets it. NULL: no memory. */
struct upgrade *upgrade_open(char **argv);
void upgrade_close(struct upgrade *u); /* NULL is fine */

/* From now on there is something to hand over; and no more. */
void upgrade_serving(struct upgrade *u, struct server *server,
		     struct control_socket *control, struct event_base *base);

/* The signal has come. When the other is ready the loop of `base` is left. */
void upgrade_begin(struct upgrade *u);

/* The loop has been left: whether it is for that. */
bool upgrade_is_ready(const struct upgrade *u);

/* It is not wanted any more: what is under way is ended. */
void upgrade_is_over(struct upgrade *u);

/* Nothing is served any more and the pool is closed: tell the other and wait. True:
 * it serves. False, and said why: it has ended, and what it had been given is here,
 * to go on with, until the next upgrade_begin() or upgrade_close(). */
bool upgrade_finish(struct upgrade *u);
const struct handover *upgrade_returned(const struct upgrade *u);

#endif
