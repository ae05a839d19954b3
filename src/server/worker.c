/* SPDX-License-Identifier: BSD-3-Clause */
/* See worker.h. */
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "conn.h"
#include "log.h"

/* How exactly deadlines are kept. */
#define TICK_MSEC 200

uint64_t now_msec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ------------------------------------------------------------- mailbox */

static void tell(struct worker *w)
{
	const uint64_t one = 1;

	if (atomic_exchange(&w->told, true))
		return;
	if (write(w->wake_fd, &one, sizeof(one)) < 0) {
		/* It is full, so the worker is about to look. */
	}
}

void worker_give(struct worker *w, struct arrival *arrival)
{
	atomic_fetch_add(&w->load, 1);
	pthread_mutex_lock(&w->mail_lock);
	arrival->next = w->arrivals;
	w->arrivals = arrival;
	pthread_mutex_unlock(&w->mail_lock);
	tell(w);
}

void worker_send(struct worker *w, struct errand *errand)
{
	pthread_mutex_lock(&w->mail_lock);
	errand->next = w->errands;
	w->errands = errand;
	pthread_mutex_unlock(&w->mail_lock);
	tell(w);
}

void worker_stop(struct worker *w)
{
	atomic_store(&w->stop, true);
	tell(w);
}

/* From any thread, with locks of the store held. */
static void store_wake(void *arg)
{
	struct worker *w = arg;

	atomic_store(&w->memory, true);
	tell(w);
}

static void take_arrivals(struct worker *w)
{
	struct arrival *list, *next, *turned = NULL;

	pthread_mutex_lock(&w->mail_lock);
	list = w->arrivals;
	w->arrivals = NULL;
	pthread_mutex_unlock(&w->mail_lock);
	for (; list; list = next) {
		next = list->next;
		list->next = turned;
		turned = list;
	}
	for (; turned; turned = next) {
		next = turned->next;
		conn_new(w, turned);
	}
}

void worker_run_errands(struct worker *w)
{
	struct errand *list, *next;

	pthread_mutex_lock(&w->mail_lock);
	list = w->errands;
	w->errands = NULL;
	pthread_mutex_unlock(&w->mail_lock);
	for (; list; list = next) {
		next = list->next; /* it may free itself */
		list->run(w, list->arg);
	}
}

/* ------------------------------------------------------------- the loop */

void worker_need_tick(struct worker *w)
{
	const struct timeval interval = {.tv_usec = TICK_MSEC * 1000};

	if (w->ticking)
		return;
	w->ticking = true;
	w->ticked = now_msec();
	event_add(w->tick_event, &interval);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	struct conn *c, *next;
	uint64_t now = now_msec();
	bool more = w->stopping;

	(void)fd;
	(void)what;
	w->looked += min_u64(now - w->ticked, TICK_MSEC);
	TAILQ_FOREACH_SAFE(c, &w->conns, link, next)
	{
		more = more || c->deadline || c->is_waiting || c->payload;
		conn_tick(c, now);
	}
	w->ticking = false;
	/* What is held back of the log is told in time, whoever brought it
	 * about: nothing else here wakes up by itself. */
	more |= log_catch_up(false);
	if (more)
		worker_need_tick(w);
}

static void resume_waiting(struct worker *w)
{
	struct conn *c, *last = TAILQ_LAST(&w->waiting, conn_list);
	bool more = last != NULL;

	/* Each once: those that wait again are put at the end. */
	while (more && (c = TAILQ_FIRST(&w->waiting))) {
		more = c != last;
		TAILQ_REMOVE(&w->waiting, c, waiting);
		c->is_waiting = false;
		conn_resume(c);
	}
	if (TAILQ_EMPTY(&w->waiting))
		ram_wait_cancel(w->ram);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	uint64_t count;

	(void)what;
	/* In this order: who tells from now on writes again, and what was told
	 * before is found below. */
	if (read(fd, &count, sizeof(count)) < 0) {
		/* Nothing was there; looking does no harm. */
	}
	atomic_store(&w->told, false);
	take_arrivals(w);
	worker_run_errands(w);
	conns_share(w);
	if (atomic_exchange(&w->memory, false))
		resume_waiting(w);
}

static void begin_to_stop(struct worker *w)
{
	struct conn *c, *next;

	w->stopping = true;
	w->stop_by = now_msec() + atomic_load(&w->server->stop_msec);
	TAILQ_FOREACH_SAFE(c, &w->conns, link, next)
	conn_stop(c);
	worker_need_tick(w);
}

static void cut_all(struct worker *w)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&w->conns)))
		conn_close(c, "the server stops");
}

/* Look without sleeping until nothing has come for a while. */
static void poll_busily(struct worker *w, unsigned usec)
{
	struct timespec from, now;
	int64_t idle = 0;

	clock_gettime(CLOCK_MONOTONIC, &from);
	while (idle < usec && !atomic_load(&w->stop)) {
		w->active = false;
		event_base_loop(w->base, EVLOOP_NONBLOCK);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (w->active)
			from = now;
		idle = (now.tv_sec - from.tv_sec) * 1000000 +
		       (now.tv_nsec - from.tv_nsec) / 1000;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	char name[16];
	unsigned busy;

	snprintf(name, sizeof(name), "worker %u", w->number % 1000);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		busy = atomic_load(&w->server->limits.busy_poll_usec);
		if (busy)
			poll_busily(w, busy);
		/* Polling may have taken the wake-up that came with this. */
		if (!atomic_load(&w->stop) || w->stopping)
			event_base_loop(w->base, EVLOOP_ONCE);
		if (atomic_load(&w->stop) && !w->stopping)
			begin_to_stop(w);
		if (!w->stopping)
			continue;
		if (now_msec() >= w->stop_by)
			cut_all(w);
		if (TAILQ_EMPTY(&w->conns))
			return NULL;
	}
}

/* ------------------------------------------------------------ begin, end */

static void worker_free(struct worker *w)
{
	if (w->wake_event)
		event_free(w->wake_event);
	if (w->tick_event)
		event_free(w->tick_event);
	if (w->base)
		event_base_free(w->base);
	if (w->ram)
		ram_pool_leave(w->ram);
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	out_pool_empty(&w->outs);
	free(w->input);
	pthread_mutex_destroy(&w->mail_lock);
}

static int make(struct worker *w)
{
	struct event_config *config = event_config_new();

	if (!config)
		return -ENOMEM;
	/* One thread alone uses it. */
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	w->base = event_base_new_with_config(config);
	event_config_free(config);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* On a page: the kernel's copies into it are faster by half. */
	w->input = aligned_alloc(4096, WORKER_INPUT);
	if (!w->base || w->wake_fd < 0 || !w->input)
		return -ENOMEM;
	w->wake_event = event_new(w->base, w->wake_fd, EV_READ | EV_PERSIST,
				  on_wake, w);
	w->tick_event = event_new(w->base, -1, 0, on_tick, w);
	if (!w->wake_event || !w->tick_event ||
	    event_add(w->wake_event, NULL) < 0)
		return -ENOMEM;
	return ram_pool_join(w->server->pool, store_wake, w, &w->ram);
}

int worker_start(struct worker *w, struct server *server, unsigned number)
{
	int error;

	memset(w, 0, sizeof(*w));
	w->server = server;
	w->number = number;
	w->wake_fd = -1;
	pthread_mutex_init(&w->mail_lock, NULL);
	TAILQ_INIT(&w->conns);
	TAILQ_INIT(&w->waiting);
	error = make(w);
	if (!error)
		error = -pthread_create(&w->thread, NULL, work, w);
	if (error)
		worker_free(w);
	return error;
}

void worker_join(struct worker *w)
{
	pthread_join(w->thread, NULL);
}

void worker_destroy(struct worker *w)
{
	struct arrival *a;

	while ((a = w->arrivals)) {
		w->arrivals = a->next;
		addresses_leave(&w->server->addresses, &a->address);
		atomic_fetch_sub(&w->server->connections, 1);
		close(a->fd);
		free(a);
	}
	worker_free(w);
}
