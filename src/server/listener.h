/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets that are listened to: TCP, Unix, inherited. The main thread's. */
#ifndef NBDRAM_SERVER_LISTENER_H
#define NBDRAM_SERVER_LISTENER_H

#include <event2/event.h>

#include "server.h"

struct listener;

/* Open all that the options ask for (or were handed over by the service
 * manager), and listen; what cannot be had is told in the log. NULL then. */
struct listener *listeners_open(struct server *server, struct event_base *base);

/* Begin to accept: not before workers run. */
void listeners_start(struct listener *list);

/* Stop accepting, close, remove socket files that are ours. NULL is fine. */
void listeners_close(struct listener *list);

#endif
