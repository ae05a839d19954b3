/* SPDX-License-Identifier: BSD-3-Clause */
/* See aside.h. */
#include "aside.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define TICK_NSEC 500000000L

struct aside {
	void (*work)(void *arg);
	void *arg;
};

static void *run(void *arg)
{
	struct aside *a = arg;

	a->work(a->arg);
	return NULL;
}

void aside_run(void (*work)(void *arg), void *arg, void (*tick)(void *arg),
	       void *tick_arg)
{
	struct aside a = {work, arg};
	struct timespec until;
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, &a)) {
		work(arg);
		return;
	}
	for (;;) {
		/* Not that on the wall, which may be set back meanwhile. */
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NSEC;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC,
					 &until) != ETIMEDOUT)
			return;
		tick(tick_arg);
	}
}
