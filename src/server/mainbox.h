/* SPDX-License-Identifier: BSD-3-Clause */
/* What other threads want done on the main thread, which never waits for them. */
#ifndef NBDRAM_SERVER_MAINBOX_H
#define NBDRAM_SERVER_MAINBOX_H

#include <event2/event.h>
#include <stdbool.h>

struct mainbox;

/* The main thread's, as closing it and freeing it. NULL: it cannot be had. */
struct mainbox *mainbox_open(struct event_base *base);

/* Have run(arg) called on the main thread, and wait for that. False: the main thread
 * has stopped, and it was not called. Any other thread. */
bool mainbox_run(struct mainbox *box, void (*run)(void *arg), void *arg);

/* Nothing is run from now on. NULL is fine. */
void mainbox_close(struct mainbox *box);

/* When no other thread can come any more. NULL is fine. */
void mainbox_free(struct mainbox *box);

#endif
