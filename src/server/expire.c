/* SPDX-License-Identifier: BSD-3-Clause */
/* See expire.h. When its last client has left is kept in a disk's note, so that a
 * restart does not begin to count anew; by the clock of the day there, which may be
 * set, and by the other one as long as the daemon runs. */
#include "expire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "log.h"
#include "note.h"
#include "worker.h"

/* After a start clients have so long to come back, however long they were away. */
#define GRACE_MSEC 60000u

/* What is done at a time: the main thread has other work. */
#define CHANGES_MOST 200u

struct expiry {
	struct server *server;
	struct event *timer;
};

/* What is to be done with one; found with the lock, done without. */
enum change {
	CHANGE_NONE,
	CHANGE_UNUSED, /* its last client has left */
	CHANGE_USED,
	CHANGE_EXPIRED,
};

struct found {
	struct export *e;
	enum change change;
};

/* With exports.lock. */
static enum change look_at(const struct export *e, uint64_t now)
{
	struct export_use *use = e->use;
	/* Some come and go between two looks. */
	bool came = use->entered != use->seen;

	if (!e->template || e->expire_msec == 0)
		return CHANGE_NONE;
	use->seen = use->entered;
	if (atomic_load(&use->connections) > 0) {
		if (use->unused_since == 0)
			return CHANGE_NONE;
		use->unused_since = 0;
		return CHANGE_USED;
	}
	if (use->unused_since == 0 || came) {
		use->unused_since = now;
		return CHANGE_UNUSED;
	}
	return now - use->unused_since >= e->expire_msec ? CHANGE_EXPIRED
							 : CHANGE_NONE;
}

static unsigned look_at_all(struct exports *exports, uint64_t now,
			    struct found *found)
{
	unsigned i, n = 0;
	enum change change;

	pthread_mutex_lock(&exports->lock);
	for (i = 0; i < exports->count && n < CHANGES_MOST; i++) {
		change = look_at(exports->list[i], now);
		if (change == CHANGE_NONE)
			continue;
		found[n].e = exports->list[i];
		found[n++].change = change;
		atomic_fetch_add(&exports->list[i]->refs, 1);
	}
	pthread_mutex_unlock(&exports->lock);
	return n;
}

static void note_unused(const struct export *e, bool unused)
{
	struct note note;

	note_load(e->disk, &note);
	note.unused_since = unused ? (uint64_t)time(NULL) : 0;
	/* Else it lives longer than it should, no more. */
	if (note_save(e->disk, &note))
		log_warning("disk of %s: when it was used last cannot be "
			    "noted",
			    e->template);
}

static void delete_disk(struct exports *exports, struct export *e)
{
	char clean[120];

	/* Somebody may have come just now. */
	if (exports_withdraw_unused(exports, e->name, false))
		return;
	log_escape(e->name, strlen(e->name), clean, sizeof(clean));
	if (ram_disk_delete(e->disk) == 0)
		log_info("disk %s: deleted: nobody has used it for %u s "
			 "(expire)",
			 clean, e->expire_msec / 1000);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct expiry *expiry = arg;
	struct server *s = expiry->server;
	struct found found[CHANGES_MOST];
	unsigned i, n;

	(void)fd;
	(void)what;
	/* Whoever changes exports may be at it for long; there is time. */
	if (pthread_mutex_trylock(&s->change_lock))
		return;
	n = look_at_all(&s->exports, now_msec(), found);
	for (i = 0; i < n; i++) {
		if (found[i].change == CHANGE_EXPIRED)
			delete_disk(&s->exports, found[i].e);
		else
			note_unused(found[i].e,
				    found[i].change == CHANGE_UNUSED);
		export_put(&s->exports, found[i].e);
	}
	pthread_mutex_unlock(&s->change_lock);
}

/* As if we had been there all the time, but for the grace. */
static void begin_with(struct exports *exports, struct export *e, uint64_t now)
{
	uint64_t day = time(NULL), gone = 0, most;
	struct note note;

	if (!e->template || e->expire_msec == 0)
		return;
	note_load(e->disk, &note);
	if (note.unused_since > 0 && note.unused_since < day)
		gone = (day - note.unused_since) * 1000;
	most = e->expire_msec - min_u64(e->expire_msec, GRACE_MSEC);
	gone = min_u64(min_u64(gone, most), now - 1);
	pthread_mutex_lock(&exports->lock);
	if (note.unused_since > 0)
		e->use->unused_since = now - gone;
	pthread_mutex_unlock(&exports->lock);
}

struct expiry *expiry_start(struct event_base *base, struct server *server)
{
	struct expiry *expiry = calloc(1, sizeof(*expiry));
	const struct timeval second = {1, 0};
	uint64_t now = now_msec();
	struct export *e;
	unsigned at = 0;

	if (!expiry)
		return NULL;
	expiry->server = server;
	for (e = exports_next(&server->exports, NULL, &at); e;
	     e = exports_next(&server->exports, e, &at))
		begin_with(&server->exports, e, now);
	expiry->timer = event_new(base, -1, EV_PERSIST, on_timer, expiry);
	if (expiry->timer && event_add(expiry->timer, &second) == 0)
		return expiry;
	expiry_stop(expiry);
	return NULL;
}

void expiry_stop(struct expiry *expiry)
{
	if (!expiry)
		return;
	if (expiry->timer)
		event_free(expiry->timer);
	free(expiry);
}
