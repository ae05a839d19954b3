/* SPDX-License-Identifier: BSD-3-Clause */
/* See takeover.h. */
#include "takeover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct takeover {
	struct proto_session who;
	struct worker *asker;
	uint64_t conn_id;
	_Atomic unsigned left; /* workers that have not looked yet */
	struct errand done;
	struct errand look[]; /* one for each worker */
};

static void on_done(struct worker *w, void *arg)
{
	struct takeover *t = arg;
	struct conn *c;

	sessions_taken_over(&w->server->sessions, &t->who);
	TAILQ_FOREACH(c, &w->conns, link)
	{
		if (c->id == t->conn_id) {
			conn_session_ready(c);
			break;
		}
	}
	free(t);
}

/* What was received whole is in the store already; the rest is dropped. */
static void on_look(struct worker *w, void *arg)
{
	struct takeover *t = arg;
	struct conn *c, *next;

	TAILQ_FOREACH_SAFE(c, &w->conns, link, next)
	{
		if (c->id != t->conn_id && c->in_session &&
		    memcmp(c->session.uuid, t->who.uuid, 16) == 0 &&
		    c->session.epoch < t->who.epoch)
			conn_close(c, "its device has come back with a higher "
				      "epoch");
	}
	if (atomic_fetch_sub(&t->left, 1) == 1)
		worker_send(t->asker, &t->done);
}

int takeover_begin(struct conn *c, const struct proto_session *who)
{
	struct server *s = c->worker->server;
	unsigned i, n = s->worker_count;
	struct takeover *t = calloc(1, sizeof(*t) + n * sizeof(t->look[0]));

	if (!t)
		return -ENOMEM;
	t->who = *who;
	t->asker = c->worker;
	t->conn_id = c->id;
	t->left = n;
	t->done.run = on_done;
	t->done.arg = t;
	for (i = 0; i < n; i++) {
		t->look[i].run = on_look;
		t->look[i].arg = t;
		worker_send(&s->workers[i], &t->look[i]);
	}
	return 0;
}
