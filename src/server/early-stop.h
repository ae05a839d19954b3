/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGTERM and SIGINT from the time on when there is something to clean up, until
 * the event loop hears of them. The main thread's. */
#ifndef NBDRAM_SERVER_EARLY_STOP_H
#define NBDRAM_SERVER_EARLY_STOP_H

#include <stdbool.h>

/* From now on they are kept; for threads that are started later too, so that it is
 * always the main thread that hears of them. */
void early_stop_begin(void);

/* Whether one has come. */
bool early_stop_asked(void);

/* Somebody else hears of them now, also of what has come. */
void early_stop_end(void);

#endif
