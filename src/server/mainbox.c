/* SPDX-License-Identifier: BSD-3-Clause */
/* See mainbox.h. */
#include "mainbox.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct wish {
	struct wish *next;
	void (*run)(void *arg);
	void *arg;
	bool over, done;
};

struct mainbox {
	int wake_fd; /* eventfd */
	struct event *event;
	pthread_mutex_t lock;
	pthread_cond_t over;
	/* Guarded by lock. */
	struct wish *first, **end;
	bool closed;
};

static struct wish *next(struct mainbox *box)
{
	struct wish *wish;

	pthread_mutex_lock(&box->lock);
	wish = box->first;
	if (wish) {
		box->first = wish->next;
		if (!box->first)
			box->end = &box->first;
	}
	pthread_mutex_unlock(&box->lock);
	return wish;
}

static void tell(struct mainbox *box, struct wish *wish, bool done)
{
	pthread_mutex_lock(&box->lock);
	wish->over = true;
	wish->done = done;
	pthread_cond_broadcast(&box->over);
	pthread_mutex_unlock(&box->lock);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct mainbox *box = arg;
	struct wish *wish;
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0)
		return;
	while ((wish = next(box))) {
		wish->run(wish->arg);
		tell(box, wish, true);
	}
}

struct mainbox *mainbox_open(struct event_base *base)
{
	struct mainbox *box = calloc(1, sizeof(*box));

	if (!box)
		return NULL;
	pthread_mutex_init(&box->lock, NULL);
	pthread_cond_init(&box->over, NULL);
	box->end = &box->first;
	box->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (box->wake_fd >= 0)
		box->event = event_new(base, box->wake_fd, EV_READ | EV_PERSIST,
				       on_wake, box);
	if (box->event && event_add(box->event, NULL) == 0)
		return box;
	mainbox_free(box);
	return NULL;
}

bool mainbox_run(struct mainbox *box, void (*run)(void *arg), void *arg)
{
	struct wish wish = {.run = run, .arg = arg};
	const uint64_t one = 1;

	pthread_mutex_lock(&box->lock);
	if (!box->closed) {
		*box->end = &wish;
		box->end = &wish.next;
		if (write(box->wake_fd, &one, sizeof(one)) < 0) {
			/* It has been written to already. */
		}
		while (!wish.over)
			pthread_cond_wait(&box->over, &box->lock);
	}
	pthread_mutex_unlock(&box->lock);
	return wish.done;
}

void mainbox_close(struct mainbox *box)
{
	struct wish *wish;

	if (!box)
		return;
	pthread_mutex_lock(&box->lock);
	box->closed = true;
	pthread_mutex_unlock(&box->lock);
	while ((wish = next(box)))
		tell(box, wish, false);
}

void mainbox_free(struct mainbox *box)
{
	if (!box)
		return;
	if (box->event)
		event_free(box->event);
	if (box->wake_fd >= 0)
		close(box->wake_fd);
	pthread_cond_destroy(&box->over);
	pthread_mutex_destroy(&box->lock);
	free(box);
}
