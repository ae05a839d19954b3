/* SPDX-License-Identifier: BSD-3-Clause */
/* See keep.h. */
#include "keep.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "say.h"
#include "state.h"
#include "wait.h"

/* All of it is locked in memory; a TLS handshake has the deepest calls. */
#define STACK_BYTES (256u << 10)
/* How often a server is asked whether a disk has grown. */
#define LOOK_MS 30000
/* Pauses between attempts: short at first, since a server that is started anew is
 * back soon; then a fiftieth of the time that it was away, at most 5 s. */
#define PAUSE_LEAST_MS 100
#define PAUSE_MOST_MS 5000
#define PAUSE_SHARE 50
/* A device whose links are not known: for servers without sessions. */
#define UNKNOWN_MS 5000

static struct attach_keeper *make(int folder, pthread_mutex_t *lock,
				  pthread_cond_t *changed)
{
	struct attach_keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->lock = lock;
	k->changed = changed;
	k->joined = true;
	k->disk.folder = folder;
	k->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	k->look = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->stop < 0 || k->look < 0) {
		attach_keeper_free(k);
		return NULL;
	}
	return k;
}

struct attach_keeper *attach_keeper_new(const struct attach_wish *wish,
					int folder, pthread_mutex_t *lock,
					pthread_cond_t *changed)
{
	struct attach_keeper *k = make(folder, lock, changed);

	if (!k)
		return NULL;
	attach_disk_begin(&k->disk, wish, folder, k->stop);
	k->shown = k->disk.record;
	k->state = KEEPER_MAKING;
	return k;
}

struct attach_keeper *attach_keeper_adopt(const struct attach_record *record,
					  int folder, pthread_mutex_t *lock,
					  pthread_cond_t *changed, int *error,
					  struct attach_why *why)
{
	struct attach_keeper *k = make(folder, lock, changed);

	*error = -ENOMEM;
	if (!k)
		return NULL;
	k->adopted = true;
	k->state = KEEPER_GOING;
	if (record->phase == ATTACH_FAILED) {
		k->disk.record = *record;
		k->state = KEEPER_GIVEN_UP;
		*error = 0;
	} else {
		*error = attach_disk_adopt(&k->disk, record, folder, k->stop,
					   why);
	}
	k->shown = k->disk.record;
	if (*error) {
		attach_keeper_free(k);
		return NULL;
	}
	return k;
}

void attach_keeper_free(struct attach_keeper *k)
{
	attach_disk_end(&k->disk);
	if (k->stop >= 0)
		close(k->stop);
	if (k->look >= 0)
		close(k->look);
	free(k);
}

static void signal_event(int fd)
{
	const uint64_t one = 1;

	/* It cannot fail but by being full: then it is readable as wished. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

void attach_keeper_stop(struct attach_keeper *k)
{
	if (k->joined)
		return;
	signal_event(k->stop);
	pthread_join(k->thread, NULL);
	k->joined = true;
}

void attach_keeper_show(const struct attach_keeper *k,
			struct attach_record *record)
{
	*record = k->shown;
	record->away = k->away_since ? (attach_now() - k->away_since) / 1000
				     : 0;
	snprintf(record->trouble, sizeof(record->trouble), "%s", k->text);
}

/* With the lock. */
static void tell(struct attach_keeper *k, enum attach_keeper_state state,
		 int64_t away, const char *text)
{
	unsigned live =
		state == KEEPER_GOING && !away ? k->disk.record.connections : 0;

	k->state = state;
	k->shown = k->disk.record;
	k->shown.live = live;
	k->away_since = away;
	if (text)
		snprintf(k->text, sizeof(k->text), "%s", text);
	pthread_cond_broadcast(k->changed);
}

/* Tell others how it is. text: NULL leaves it. */
static void publish(struct attach_keeper *k, enum attach_keeper_state state,
		    int64_t away, const char *text)
{
	pthread_mutex_lock(k->lock);
	tell(k, state, away, text);
	pthread_mutex_unlock(k->lock);
}

/* Sleep; false: it is to end. */
static bool pause_for(struct attach_keeper *k, int64_t ms)
{
	struct pollfd stop = {.fd = k->stop, .events = POLLIN};

	return poll(&stop, 1, ms) == 0;
}

static void give_up(struct attach_keeper *k, int64_t away, const char *reason)
{
	const struct attach_record *r = &k->disk.record;
	struct attach_why why, text;

	attach_fail(&text, 0, "given up after %u s: %.300s", r->wish.give_up,
		    reason);
	attach_say("nbd%d: %s", r->index, text.text);
	if (attach_disk_detach(&k->disk, -1, true, &why))
		attach_say("nbd%d: %s", r->index, why.text);
	publish(k, KEEPER_GIVEN_UP, away, text.text);
}

static void say_gone(struct attach_keeper *k)
{
	struct attach_record *r = &k->disk.record;

	attach_say("nbd%d: it was detached by somebody else", r->index);
	attach_state_remove(k->disk.folder, r);
	publish(k, KEEPER_GONE, 0, NULL);
}

/* Until the device is connected again. False: there is nothing more to do. */
static bool bring_back(struct attach_keeper *k, const char *what)
{
	const int64_t since = attach_now();
	const struct attach_record *r = &k->disk.record;
	struct attach_why why = {"?"}, told = {""};
	int64_t gone = 0, pause;
	int error;

	attach_say("nbd%d: %s", r->index, what);
	publish(k, KEEPER_GOING, since, what);
	while ((error = attach_disk_renew(&k->disk, &why))) {
		if (error == -ECANCELED)
			return false;
		if (error == -ENODEV) {
			say_gone(k);
			return false;
		}
		if (strcmp(why.text, told.text) != 0)
			attach_say("nbd%d: %s", r->index, why.text);
		told = why;
		publish(k, KEEPER_GOING, since, why.text);
		gone = attach_now() - since;
		if (gone >= r->wish.give_up * INT64_C(1000)) {
			give_up(k, since, why.text);
			return false;
		}
		pause = min_u64(max_u64(gone / PAUSE_SHARE, PAUSE_LEAST_MS),
				PAUSE_MOST_MS);
		pause = min_u64(pause, r->wish.give_up * INT64_C(1000) - gone);
		if (!pause_for(k, pause))
			return false;
	}
	attach_say("nbd%d: connected to %s again, after %.1f s", r->index,
		   r->target, (attach_now() - since) / 1000.0);
	publish(k, KEEPER_GOING, 0, "");
	return true;
}

/* Wait until a link is dead (true), or it is to end (false). */
static bool watch_links(struct attach_keeper *k)
{
	struct attach_disk *d = &k->disk;
	struct pollfd fds[ATTACH_CONNECTIONS_MOST + 2];
	struct attach_why why;
	const unsigned n = d->record.connections;
	uint64_t count;
	unsigned i;
	int ready;

	for (;;) {
		fds[n] = (struct pollfd){.fd = k->stop, .events = POLLIN};
		fds[n + 1] = (struct pollfd){.fd = k->look, .events = POLLIN};
		for (i = 0; i < n; i++)
			fds[i] = (struct pollfd){.fd = d->links[i].fd};
		ready = poll(fds, n + 2,
			     d->links_unknown ? UNKNOWN_MS : LOOK_MS);
		if (fds[n].revents)
			return false;
		for (i = 0; i < n && ready > 0; i++)
			if (fds[i].revents)
				return true;
		if (fds[n + 1].revents &&
		    read(k->look, &count, sizeof(count)) < 0)
			return false;
		if (d->links_unknown) {
			if (attach_disk_renew(d, &why) == -ENODEV)
				return true;
		} else if (attach_disk_grow(d, &why) == 0 &&
			   d->record.size != k->shown.size) {
			attach_say("nbd%d: it has grown", d->record.index);
			publish(k, KEEPER_GOING, 0, NULL);
		}
	}
}

/* Those who wait for a device are told of it, or have gone before; not both, for it
 * is with the lock that they have it stopped. False: they have gone. */
static bool tell_made(struct attach_keeper *k)
{
	bool wanted;

	pthread_mutex_lock(k->lock);
	wanted = pause_for(k, 0);
	if (wanted)
		tell(k, KEEPER_GOING, 0, k->disk.warning);
	pthread_mutex_unlock(k->lock);
	return wanted;
}

/* False: there is no device. */
static bool make_disk(struct attach_keeper *k)
{
	struct attach_disk *d = &k->disk;
	struct attach_why why = {""};

	k->error = attach_disk_make(d, &why);
	if (!k->error && !tell_made(k)) {
		k->error = -ECANCELED;
		if (attach_disk_detach(d, -1, false, &why))
			attach_say("nbd%d: %s", d->record.index, why.text);
		else
			attach_say("nbd%d: undone: nobody waits for it",
				   d->record.index);
		attach_fail(&why, 0, "%s: given up", d->record.target);
	}
	if (k->error)
		publish(k, KEEPER_GONE, 0, why.text);
	else
		attach_say("nbd%d: attached to %s", d->record.index,
			   d->record.target);
	return !k->error;
}

static void *keep(void *arg)
{
	struct attach_keeper *k = arg;

	if (!k->adopted) {
		if (!make_disk(k))
			return NULL;
	} else if (!bring_back(k, "found, its watcher was gone")) {
		return NULL;
	}
	while (watch_links(k)) {
		if (!bring_back(k, "the server is away"))
			break;
	}
	return NULL;
}

int attach_keeper_start(struct attach_keeper *k)
{
	pthread_attr_t how;
	int error;

	if (k->state == KEEPER_GIVEN_UP)
		return 0;
	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK_BYTES);
	error = pthread_create(&k->thread, &how, keep, k);
	pthread_attr_destroy(&how);
	k->joined = error;
	return -error;
}
