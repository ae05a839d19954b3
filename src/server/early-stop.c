/* SPDX-License-Identifier: BSD-3-Clause */
/* See early-stop.h. */
#include "early-stop.h"

#include <pthread.h>
#include <signal.h>

static sigset_t both(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

void early_stop_begin(void)
{
	const sigset_t set = both();

	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

bool early_stop_asked(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGINT) == 1);
}

void early_stop_end(void)
{
	const sigset_t set = both();

	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
