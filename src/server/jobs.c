/* SPDX-License-Identifier: BSD-3-Clause */
/* See jobs.h. */
#include "jobs.h"

#include <pthread.h>
#include <stdlib.h>

/* More would only take turns: they wait for locks of the store, or walk. */
#define THREADS 6
#define LONG_MOST 2
#define LOOKS_MOST 2
#define CHANGES_MOST 1

struct jobs_thread {
	struct jobs *jobs;
	pthread_t thread;
	struct ram_thread *ram;
};

struct jobs {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *first, **end; /* guarded by lock, as all below */
	unsigned running_long, running_looks, running_changes;
	_Atomic bool stop; /* read by jobs too, without the lock */
	unsigned count;	   /* of threads that run */
	struct jobs_thread threads[THREADS];
};

/* Under lock: that of the counts which a job of its kind is in; NULL: in none. */
static unsigned *count_of(struct jobs *jobs, const struct job *job,
			  unsigned *most)
{
	if (job->is_long && job->looks) {
		*most = LOOKS_MOST;
		return &jobs->running_looks;
	}
	if (job->is_long) {
		*most = LONG_MOST;
		return &jobs->running_long;
	}
	*most = CHANGES_MOST;
	return job->changes ? &jobs->running_changes : NULL;
}

/* Under lock: the first that may run now, taken out of the line. */
static struct job *take(struct jobs *jobs)
{
	struct job **at, *job;
	unsigned *count, most;

	for (at = &jobs->first; (job = *at); at = &job->next) {
		count = count_of(jobs, job, &most);
		if (count && *count >= most)
			continue;
		*at = job->next;
		if (jobs->end == &job->next)
			jobs->end = at;
		return job;
	}
	return NULL;
}

static void *work(void *arg)
{
	struct jobs_thread *t = arg;
	struct jobs *jobs = t->jobs;
	unsigned *count, most;
	struct job *now;

	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		now = take(jobs);
		if (!now && jobs->stop && !jobs->first)
			break;
		if (!now) {
			pthread_cond_wait(&jobs->more, &jobs->lock);
			continue;
		}
		count = count_of(jobs, now, &most);
		if (count)
			++*count;
		pthread_mutex_unlock(&jobs->lock);
		now->run(now, t->ram);
		pthread_mutex_lock(&jobs->lock);
		if (count)
			--*count;
		if (count || jobs->stop)
			pthread_cond_broadcast(&jobs->more);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

struct jobs *jobs_start(struct ram_pool *pool)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	struct jobs_thread *t;

	if (!jobs)
		return NULL;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->more, NULL);
	jobs->end = &jobs->first;
	while (jobs->count < THREADS) {
		t = &jobs->threads[jobs->count];
		t->jobs = jobs;
		if (ram_pool_join(pool, NULL, NULL, &t->ram))
			break;
		if (pthread_create(&t->thread, NULL, work, t)) {
			ram_pool_leave(t->ram);
			break;
		}
		jobs->count++;
	}
	if (jobs->count == THREADS)
		return jobs;
	jobs_stop(jobs);
	return NULL;
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	job->stopping = &jobs->stop;
	pthread_mutex_lock(&jobs->lock);
	*jobs->end = job;
	jobs->end = &job->next;
	pthread_cond_signal(&jobs->more);
	pthread_mutex_unlock(&jobs->lock);
}

void jobs_stop(struct jobs *jobs)
{
	unsigned i;

	if (!jobs)
		return;
	/* Jobs look at it: one that is nearly through may be gone already. */
	pthread_mutex_lock(&jobs->lock);
	atomic_store(&jobs->stop, true);
	pthread_cond_broadcast(&jobs->more);
	pthread_mutex_unlock(&jobs->lock);
	for (i = 0; i < jobs->count; i++) {
		pthread_join(jobs->threads[i].thread, NULL);
		ram_pool_leave(jobs->threads[i].ram);
	}
	pthread_cond_destroy(&jobs->more);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}
