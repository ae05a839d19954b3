/* SPDX-License-Identifier: BSD-3-Clause */
/* See parked.h. */
#include "parked.h"

#include <errno.h>
#include <stdlib.h>

#include "execute.h"
#include "payload.h"
#include "stream.h"

/* Each takes about a kilobyte. */
#define PARKED_MOST 32

/* So long after reading has begun again may what is read have waited before. */
#define HELD_MSEC 1000

/* ----------------------------------------------------------------- clocks */

static uint64_t clock_from(const struct conn *c, uint64_t now)
{
	if (c->blocked_since)
		return c->blocked_since;
	return c->held_since && now < c->held_until ? c->held_since : now;
}

void wait_begin(struct conn *c)
{
	uint64_t now;

	c->waited = 0;
	if (!c->blocked_since && !c->held_since)
		return; /* as nearly always */
	now = now_msec();
	c->waited = now - clock_from(c, now);
}

bool wait_worth(const struct conn *c, int error)
{
	/* What is not loaded yet comes, or fails by itself. */
	if (error == -EINPROGRESS)
		return true;
	return conn_waits_for(c, error) && c->waited < conn_patience(c);
}

void wait_stall(struct conn *c)
{
	if (!c->stalled) {
		c->stalled_since = now_msec();
		c->stalled_looked = c->worker->looked;
		stats_add(&c->worker->stats, STAT_WAITS, 1);
	}
	c->stalled = true;
	conn_wait(c);
}

void wait_unstall(struct conn *c)
{
	/* A place for a payload comes for sure: one of those who hold landing can
	 * always finish, and who does not try is let go. */
	if (c->stalled && !c->wants_landing)
		c->waited += now_msec() - c->stalled_since;
	/* Nobody read what it may have sent. */
	if (c->stalled)
		c->moved += c->worker->looked - c->stalled_looked;
	c->stalled = false;
}

void wait_blocked(struct conn *c, bool blocked)
{
	uint64_t now;

	if (blocked == (c->blocked_since != 0))
		return;
	now = now_msec();
	if (blocked) {
		c->blocked_since = clock_from(c, now);
	} else {
		c->held_since = c->blocked_since;
		c->held_until = now + HELD_MSEC;
		c->blocked_since = 0;
	}
}

void wait_drained(struct conn *c)
{
	c->held_since = 0;
}

/* ----------------------------------------------------------------- parked */

int parked_add(struct conn *c, struct payload *payload, uint64_t cursor)
{
	struct parked *p = malloc(sizeof(*p));

	if (!p) {
		payload_free(c, payload);
		return stream_no_memory(c);
	}
	p->next = NULL;
	p->request = c->request;
	p->payload = payload;
	p->cursor = cursor;
	p->waited = c->waited;
	p->tried = now_msec();
	*c->parked_end = p;
	c->parked_end = &p->next;
	c->parked_count++;
	stats_add(&c->worker->stats, STAT_WAITS, 1);
	conn_wait(c);
	return 0;
}

void parked_drop(struct conn *c)
{
	struct parked *p;

	while ((p = c->parked)) {
		c->parked = p->next;
		payload_free(c, p->payload);
		free(p);
	}
	c->parked_end = &c->parked;
	c->parked_count = 0;
}

bool parked_full(const struct conn *c)
{
	return c->parked_count >= PARKED_MOST;
}

/* Once more. *again: not yet. */
static int repeat(struct conn *c, struct parked *p, bool *again)
{
	uint64_t now, before = p->cursor + payload_done(p->payload);
	int error;

	*again = false;
	error = p->payload ? execute_publish(c, p->payload)
			   : execute_request(c, &p->request, &p->cursor);
	if (error == -EINPROGRESS) {
		p->tried = now_msec();
		*again = true;
		return 0;
	}
	if (error == -EAGAIN || error == -ENOSPC) {
		now = now_msec();
		/* While it gets on it does not wait. */
		if (p->cursor + payload_done(p->payload) == before)
			p->waited += now - p->tried;
		p->tried = now;
		*again = conn_waits_for(c, error) &&
			 p->waited < conn_patience(c);
		return *again ? 0 : stream_answer(c, &p->request, -ENOSPC);
	}
	if (p->payload)
		return stream_answer(c, &p->request, error);
	return error ? stream_no_memory(c) : 0;
}

int parked_repeat(struct conn *c)
{
	struct parked **at = &c->parked, *p;
	bool again;
	int error;

	while ((p = *at)) {
		error = repeat(c, p, &again);
		if (error)
			return error;
		if (again) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		c->parked_count--;
		payload_free(c, p->payload);
		free(p);
	}
	c->parked_end = at;
	if (c->parked)
		conn_wait(c);
	return 0;
}
