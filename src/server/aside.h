/* SPDX-License-Identifier: BSD-3-Clause */
/* Long work of the main thread, beside what that owes to others meanwhile. */
#ifndef NBDRAM_SERVER_ASIDE_H
#define NBDRAM_SERVER_ASIDE_H

/* Run work(arg) on a thread of its own and return when it is through. As long as
 * that lasts tick() is called on this thread, each half second. */
void aside_run(void (*work)(void *arg), void *arg, void (*tick)(void *arg),
	       void *tick_arg);

#endif
