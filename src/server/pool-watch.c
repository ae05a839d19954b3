/* SPDX-License-Identifier: BSD-3-Clause */
/* See pool-watch.h. */
#include "pool-watch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "log.h"

/* Percents of what disks may hold; and so many less before it is said again. */
static const unsigned levels[] = {80, 95};
#define LEVEL_SLACK 2

/* Looks between two lines about refusals. */
#define REFUSALS_EVERY 60

struct pool_watch {
	struct event *timer;
	struct ram_pool *pool;
	unsigned level;	   /* how many of the levels have been told */
	bool pressed;	   /* the host's need has been told */
	uint64_t refusals; /* told so far */
	unsigned quiet;	   /* looks until refusals may be told again */
};

static unsigned percent(const struct ram_usage *usage)
{
	return usage->most > 0 ? usage->held / (usage->most / 100 + 1) : 0;
}

static void look_at_level(struct pool_watch *w, const struct ram_usage *usage)
{
	unsigned now = percent(usage), level = w->level;

	while (level < ARRAY_SIZE(levels) && now >= levels[level])
		level++;
	if (level > w->level)
		log_warning("%u %% of the pool are held (%" PRIu64
			    " of %" PRIu64 " MiB); when it is full, writes "
			    "wait and fail: trim or delete what is not needed, "
			    "or make the pool larger",
			    now, usage->held >> 20, usage->most >> 20);
	while (level > 0 && now + LEVEL_SLACK < levels[level - 1])
		level--;
	w->level = level;
}

static void look_at_host(struct pool_watch *w, const struct ram_usage *usage)
{
	bool pressed = usage->spare == 0;

	if (pressed && !w->pressed)
		log_warning("the host is short of memory: no more than the "
			    "headroom of %" PRIu64 " MiB is left, so the pool "
			    "takes none until there is",
			    usage->headroom >> 20);
	else if (w->pressed && !pressed)
		log_info("the host has memory again");
	w->pressed = pressed;
}

static void look_at_refusals(struct pool_watch *w,
			     const struct ram_usage *usage)
{
	if (w->quiet > 0)
		w->quiet--;
	if (w->quiet > 0 || usage->refusals == w->refusals)
		return;
	log_warning("no memory was to be had %" PRIu64 " times; writes wait "
		    "for it, or fail",
		    usage->refusals - w->refusals);
	w->refusals = usage->refusals;
	w->quiet = REFUSALS_EVERY;
}

static void look(evutil_socket_t fd, short what, void *arg)
{
	struct pool_watch *w = arg;
	struct ram_usage usage;

	(void)fd;
	(void)what;
	ram_pool_usage(w->pool, &usage);
	look_at_level(w, &usage);
	look_at_host(w, &usage);
	look_at_refusals(w, &usage);
}

struct pool_watch *pool_watch_start(struct event_base *base,
				    struct ram_pool *pool)
{
	struct pool_watch *w = calloc(1, sizeof(*w));
	struct timeval second = {1, 0};

	if (!w)
		return NULL;
	w->pool = pool;
	w->timer = event_new(base, -1, EV_PERSIST, look, w);
	if (!w->timer || event_add(w->timer, &second) < 0) {
		pool_watch_stop(w);
		return NULL;
	}
	look(-1, 0, w);
	return w;
}

void pool_watch_stop(struct pool_watch *w)
{
	if (!w)
		return;
	if (w->timer)
		event_free(w->timer);
	free(w);
}
