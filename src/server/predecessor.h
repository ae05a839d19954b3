/* SPDX-License-Identifier: BSD-3-Clause */
/* The nbdramd that started this one to be replaced by it, seen from here; its side
 * is upgrade.h. The main thread's.
 *
 *   it:   what it has (handover.h)
 *   we:   "ready"     configuration read, what can be opened is open
 *   it:   "yours"     it serves no more, and has left the pool
 *   we:   "serving"   all disks are there; it ends
 *
 * and "working" from us now and then, so that it sees us live. It goes on serving
 * if we end before "serving". */
#ifndef NBDRAM_SERVER_PREDECESSOR_H
#define NBDRAM_SERVER_PREDECESSOR_H

#include "handover.h"

struct predecessor {
	int fd; /* -1: there is none */
	struct handover had;
};

/* The variable of the environment that has the socket's number. */
#define PREDECESSOR_VARIABLE "NBDRAM_UPGRADE"

/* Whether there is one: then take what it hands over. Negative, and said why: it
 * cannot be understood. To be called once; free it in any case. */
int predecessor_open(struct predecessor *p);
void predecessor_free(struct predecessor *p);

/* Say "ready", and wait for "yours". Negative, and said why, unless we are to stop
 * (-EINTR). */
int predecessor_ready(struct predecessor *p);

/* Nothing happens if there is none, or p is NULL. */
void predecessor_working(struct predecessor *p);
void predecessor_serving(struct predecessor *p);

#endif
