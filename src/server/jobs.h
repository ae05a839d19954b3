/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads for commands: the main thread and the workers never wait for one. A
 * few threads do all; two long jobs at a time that do something, two that look, and
 * one that changes something (those take turns anyway), so that a short one that only
 * looks is never behind them, and who looks at all is not behind memory that is
 * taken. */
#ifndef NBDRAM_SERVER_JOBS_H
#define NBDRAM_SERVER_JOBS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "store.h"

struct jobs;

/* Part of what is to be done; its owner's memory. */
struct job {
	struct job *next;
	bool is_long;
	bool looks;   /* ... and changes nothing */
	bool changes; /* takes server.change_lock at once */
	/* Nobody waits for it any more: end soon. Its owner's to set; whether that is
	 * so, or all are to end, job_cancelled() says. */
	_Atomic bool cancelled;
	const _Atomic bool *stopping; /* jobs_add() sets it */
	/* Called on one of the threads, with its registration, outside every
	 * epoch; may block. The job is not looked at afterwards. */
	void (*run)(struct job *job, struct ram_thread *ram);
};

/* By who runs it. */
static inline bool job_cancelled(const struct job *job)
{
	return atomic_load_explicit(&job->cancelled, memory_order_relaxed) ||
	       (job->stopping &&
		atomic_load_explicit(job->stopping, memory_order_relaxed));
}

/* Start the threads. NULL: they cannot be had. */
struct jobs *jobs_start(struct ram_pool *pool);

/* Have it run, in the order of arrival. Any thread. */
void jobs_add(struct jobs *jobs, struct job *job);

/* Cancel all, wait until every one has been run, end the threads; nothing is
 * added any more. NULL is fine. */
void jobs_stop(struct jobs *jobs);

#endif
