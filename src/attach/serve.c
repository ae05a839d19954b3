/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h. */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "cleanup.h"
#include "device.h"
#include "keep.h"
#include "say.h"
#include "wait.h"

#define CLIENTS_MOST 64
#define STACK_BYTES (256u << 10)
/* How long somebody may have a device open without being in the way. */
#define BRIEFLY_MS 2000
/* Who asks and does not read loses the answer. */
#define SEND_SECONDS 5
/* How soon it is noticed that somebody has hung up. */
#define LOOK_MS 100

struct client {
	struct attach_watch *w;
	int fd;
	char *text; /* the question, then the answer */
};

static void answer(struct client *c, const char *first,
		   const struct attach_record *record)
{
	size_t len = sprintf(c->text, "%s", first);

	if (record) {
		c->text[len++] = '\n';
		len += attach_record_write(record, true, c->text + len);
	}
	/* No answer is told by hanging up, so that none is missed unseen. */
	if (send(c->fd, c->text, len, MSG_NOSIGNAL) < 0)
		shutdown(c->fd, SHUT_RDWR);
}

__attribute__((format(printf, 2, 3))) static void answer_error(
	struct client *c, const char *format, ...)
{
	va_list args;
	size_t len = sprintf(c->text, "error ");

	va_start(args, format);
	len += vsnprintf(c->text + len, 512, format, args);
	va_end(args);
	send(c->fd, c->text, strlen(c->text), MSG_NOSIGNAL);
}

static bool has_hung_up(const struct client *c)
{
	struct pollfd peer = {.fd = c->fd, .events = POLLRDHUP};

	return poll(&peer, 1, 0) > 0 &&
	       (peer.revents & (POLLHUP | POLLERR | POLLRDHUP));
}

/* ------------------------------------------------- devices, with the lock */

void attach_watch_reap(struct attach_watch *w)
{
	struct attach_keeper **at = &w->keepers, *k;

	while ((k = *at)) {
		if (k->state != KEEPER_GONE || k->users > 0) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		/* It has nothing more to do with the lock. */
		pthread_mutex_unlock(&w->lock);
		attach_keeper_stop(k);
		attach_keeper_free(k);
		pthread_mutex_lock(&w->lock);
		at = &w->keepers;
	}
}

/* By device or URI. */
static struct attach_keeper *find(struct attach_watch *w, const char *name)
{
	struct attach_keeper *k;
	int index = -1;

	if (attach_device_number(name, &index))
		index = -1;
	for (k = w->keepers; k; k = k->next) {
		if (k->state == KEEPER_GONE)
			continue;
		if (index >= 0 ? k->shown.index == index
			       : strcmp(k->shown.wish.uri, name) == 0)
			return k;
	}
	return NULL;
}

/* Until it is no longer being made, or the client is gone. */
static void wait_made(struct client *c, struct attach_keeper *k, bool mine)
{
	struct timespec until;
	bool given_up = false;

	while (k->state == KEEPER_MAKING) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_MS * 1000000L;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		pthread_cond_timedwait(k->changed, k->lock, &until);
		/* Nobody else waits for it, and it is not made yet. */
		if (k->state == KEEPER_MAKING && mine && !given_up &&
		    k->users == 1 && has_hung_up(c)) {
			eventfd_write(k->stop, 1);
			given_up = true;
		}
	}
}

/* ---------------------------------------------------------------- commands */

/* Is what is attached what is wished for now? */
static bool same_wish(struct client *c, const struct attach_keeper *k,
		      const struct attach_wish *wish)
{
	const struct attach_record *r = &k->shown;

	if (wish->device >= 0 && wish->device != r->index)
		answer_error(c, "it is attached already, as nbd%d, not nbd%d",
			     r->index, wish->device);
	else if (wish->readonly != r->wish.readonly)
		answer_error(c,
			     "it is attached already, as nbd%d, %s; detach it "
			     "first",
			     r->index,
			     wish->readonly ? "and may be written to"
					    : "read-only");
	else
		return true;
	return false;
}

static int detach(struct client *c, struct attach_keeper *k, bool force);

/* Once nobody is about to detach it. */
static struct attach_keeper *find_settled(struct attach_watch *w,
					  const char *name)
{
	struct attach_keeper *k;

	while ((k = find(w, name)) && k->leaving)
		pthread_cond_wait(&w->changed, &w->lock);
	return k;
}

/* A device that was given up makes way, if nobody has it any more. */
static bool make_way(struct client *c, const char *uri)
{
	struct attach_watch *w = c->w;
	struct attach_keeper *k = find_settled(w, uri);

	if (!k || k->state != KEEPER_GIVEN_UP)
		return true;
	return detach(c, k, false) == 0;
}

/* What was given up as a device that is another one's now. */
static void forget_before(struct attach_watch *w,
			  const struct attach_keeper *fresh)
{
	struct attach_keeper *k;

	for (k = w->keepers; k; k = k->next)
		if (k != fresh && k->state == KEEPER_GIVEN_UP &&
		    k->shown.index == fresh->shown.index)
			k->state = KEEPER_GONE;
}

static void attach(struct client *c, const struct attach_wish *wish)
{
	struct attach_watch *w = c->w;
	struct attach_record *shown = malloc(sizeof(*shown));
	struct attach_keeper *k;
	bool mine;

	pthread_mutex_lock(&w->lock);
	attach_watch_reap(w);
	if (!shown || !make_way(c, wish->uri)) {
		pthread_mutex_unlock(&w->lock);
		if (!shown)
			answer_error(c, "no memory");
		free(shown);
		return;
	}
	k = find_settled(w, wish->uri);
	mine = !k;
	if (!k) {
		k = attach_keeper_new(wish, w->folder, &w->lock, &w->changed);
		if (k && attach_keeper_start(k)) {
			attach_keeper_free(k);
			k = NULL;
		}
		if (k) {
			k->next = w->keepers;
			w->keepers = k;
		}
	} else {
		/* It is said that it has grown. */
		eventfd_write(k->look, 1);
	}
	if (!k) {
		pthread_mutex_unlock(&w->lock);
		answer_error(c, "no memory, or no descriptors");
		free(shown);
		return;
	}
	k->users++;
	wait_made(c, k, mine);
	k->users--;
	attach_keeper_show(k, shown);
	shown->fresh = mine;
	forget_before(w, k);
	if (k->state == KEEPER_GONE)
		answer_error(c, "%s", k->text);
	else if (mine || same_wish(c, k, wish))
		answer(c, "ok", shown);
	attach_watch_reap(w);
	pthread_mutex_unlock(&w->lock);
	free(shown);
}

/* Have it for oneself, so that nobody can mount it from now on. False: somebody has
 * it, which was answered. */
static bool claim_device(struct client *c, int index, int *claim)
{
	const int64_t until = attach_now() + BRIEFLY_MS;
	char holder[ATTACH_HOLDER_MOST];
	int error;
	bool held;

	do {
		error = attach_device_claim(index, claim);
		held = attach_device_holder(index, holder);
		if (!held && error == -EBUSY)
			snprintf(holder, sizeof(holder),
				 "something in the kernel has it");
		if (!held && error != -EBUSY)
			return true;
		if (!error)
			close(*claim);
		/* udev and its like look and go. */
	} while (strncmp(holder, "open in", 7) == 0 && attach_now() < until &&
		 poll(NULL, 0, 50) == 0);
	answer_error(c, "nbd%d is in use: %s", index, holder);
	return false;
}

/* With the lock, which is left meanwhile. 0, or it was answered. */
static int detach(struct client *c, struct attach_keeper *k, bool force)
{
	struct attach_watch *w = c->w;
	const int index = k->shown.index;
	const char *uri = strdupa(k->shown.wish.uri);
	const bool away = k->state != KEEPER_GOING || k->away_since;
	struct attach_why why;
	int claim = -1, error = -EBUSY;
	bool mine;

	k->users++;
	k->leaving = true;
	pthread_mutex_unlock(&w->lock);
	mine = force || claim_device(c, index, &claim);
	if (mine) {
		if (claim >= 0 && !away)
			attach_disk_flush(uri, claim);
		attach_keeper_stop(k);
		error = attach_disk_detach(&k->disk, claim, false, &why);
	}
	pthread_mutex_lock(&w->lock);
	k->users--;
	k->leaving = false;
	pthread_cond_broadcast(&w->changed);
	if (!mine)
		return error;
	k->state = KEEPER_GONE;
	if (error)
		answer_error(c, "%s", why.text);
	else
		attach_say("nbd%d: detached", index);
	attach_watch_reap(w);
	return error;
}

/* Another command is about to detach it, and may wait for the server; this one does
 * not, and ends its wait. With the lock, which is left meanwhile. */
static void detach_over(struct client *c, struct attach_keeper *k)
{
	struct attach_watch *w = c->w;
	const int index = k->shown.index;
	const char *identifier = strdupa(k->shown.identifier);
	struct attach_why why;
	int error;

	k->users++;
	pthread_mutex_unlock(&w->lock);
	error = attach_disk_take_away(index, identifier, &why);
	pthread_mutex_lock(&w->lock);
	while (!error && k->leaving)
		pthread_cond_wait(&w->changed, &w->lock);
	k->users--;
	if (error)
		answer_error(c, "%s", why.text);
	else
		answer(c, "ok", NULL);
	attach_watch_reap(w);
}

static void detach_by_name(struct client *c, const char *name, bool force)
{
	struct attach_watch *w = c->w;
	struct attach_keeper *k;

	pthread_mutex_lock(&w->lock);
	attach_watch_reap(w);
	k = find(w, name);
	if (!k) {
		answer_error(c, "%.300s: is not attached", name);
	} else if (k->leaving && force) {
		detach_over(c, k);
	} else if (k->users > 0) {
		answer_error(c, "%.300s: another command is at it", name);
	} else if (detach(c, k, force) == 0) {
		answer(c, "ok", NULL);
	}
	pthread_mutex_unlock(&w->lock);
}

static void list(struct client *c)
{
	struct attach_watch *w = c->w;
	struct attach_record *shown = NULL;
	const struct attach_keeper *k;
	size_t count = 0, i;

	/* Sending may have to wait; the lock is not for that. */
	pthread_mutex_lock(&w->lock);
	for (k = w->keepers; k; k = k->next)
		count++;
	if (count)
		shown = malloc(count * sizeof(*shown));
	if (count && !shown) {
		pthread_mutex_unlock(&w->lock);
		answer_error(c, "no memory");
		return;
	}
	count = 0;
	for (k = w->keepers; k; k = k->next)
		if (k->state != KEEPER_GONE)
			attach_keeper_show(k, &shown[count++]);
	pthread_mutex_unlock(&w->lock);
	for (i = 0; i < count; i++)
		answer(c, "device", &shown[i]);
	answer(c, "ok", NULL);
	free(shown);
}

/* ---------------------------------------------------------------- threads */

static void serve_one(struct client *c)
{
	struct attach_record *record = malloc(sizeof(*record));

	if (!record)
		answer_error(c, "no memory");
	else if (strcmp(c->text, "list") == 0)
		list(c);
	else if (strncmp(c->text, "detach ", 7) == 0)
		detach_by_name(c, strdupa(c->text + 7), false);
	else if (strncmp(c->text, "detach! ", 8) == 0)
		detach_by_name(c, strdupa(c->text + 8), true);
	else if (strncmp(c->text, "attach\n", 7) == 0 &&
		 attach_record_read(c->text + 7, record) == 0)
		attach(c, &record->wish);
	else
		answer_error(c,
			     "the watcher is of another release: restart it");
	free(record);
}

static void *serve(void *arg)
{
	struct client *c = arg;
	struct attach_watch *w = c->w;
	ssize_t len;

	while ((len = recv(c->fd, c->text, ATTACH_MESSAGE_MOST, 0)) > 0) {
		c->text[len] = 0;
		serve_one(c);
	}
	close(c->fd);
	free(c->text);
	free(c);
	pthread_mutex_lock(&w->lock);
	w->clients--;
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int attach_serve(struct attach_watch *w, int fd)
{
	const struct timeval patience = {.tv_sec = SEND_SECONDS};
	struct client *c = calloc(1, sizeof(*c));
	pthread_attr_t how;
	pthread_t thread;
	int error = ENOMEM;

	pthread_mutex_lock(&w->lock);
	if (w->clients >= CLIENTS_MOST || !c ||
	    !(c->text = malloc(ATTACH_MESSAGE_MOST + 1))) {
		pthread_mutex_unlock(&w->lock);
		free(c);
		return -ENOMEM;
	}
	c->w = w;
	c->fd = fd;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK_BYTES);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &how, serve, c);
	pthread_attr_destroy(&how);
	if (!error)
		w->clients++;
	pthread_mutex_unlock(&w->lock);
	if (error) {
		free(c->text);
		free(c);
	}
	return -error;
}
