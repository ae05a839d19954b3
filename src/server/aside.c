/* SPDX-License-Identifier: BSD-3-Clause */
/* See aside.h. */
#include "aside.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define TICK_NSEC 500000000L

struct aside {
	void (*work)(void *arg);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t done_cond;
	bool done; /* guarded by lock */
};

static void *run(void *arg)
{
	struct aside *a = arg;

	a->work(a->arg);
	pthread_mutex_lock(&a->lock);
	a->done = true;
	pthread_cond_signal(&a->done_cond);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* False: not within a tick. By a clock that nobody sets. */
static bool wait_done(struct aside *a)
{
	struct timespec until;
	int error = 0;
	bool done;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_NSEC;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&a->lock);
	while (!a->done && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&a->done_cond, &a->lock, &until);
	done = a->done;
	pthread_mutex_unlock(&a->lock);
	return done;
}

static void init(struct aside *a)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->done_cond, &attr);
	pthread_condattr_destroy(&attr);
}

void aside_run(void (*work)(void *arg), void *arg, void (*tick)(void *arg),
	       void *tick_arg)
{
	struct aside a = {.work = work, .arg = arg};
	pthread_t thread;

	init(&a);
	if (pthread_create(&thread, NULL, run, &a)) {
		work(arg);
	} else {
		while (!wait_done(&a))
			tick(tick_arg);
		pthread_join(thread, NULL);
	}
	pthread_cond_destroy(&a.done_cond);
	pthread_mutex_destroy(&a.lock);
}
