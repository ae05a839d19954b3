/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing what clients of one export have open, on all workers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"

struct disconnect {
	char *name;
	void (*done)(void *arg, unsigned closed);
	void *arg;
	_Atomic unsigned closed;
	_Atomic unsigned left; /* workers that have not looked yet */
	struct errand look[];  /* one for each worker */
};

/* What was received whole is in the store already; the rest is dropped. */
static void on_look(struct worker *w, void *arg)
{
	struct disconnect *d = arg;
	struct conn *c, *next;

	TAILQ_FOREACH_SAFE(c, &w->conns, link, next)
	{
		if (!c->export || strcmp(c->export->name, d->name) != 0)
			continue;
		atomic_fetch_add(&d->closed, 1);
		conn_close(c, "it was disconnected by command");
	}
	if (atomic_fetch_sub(&d->left, 1) > 1)
		return;
	d->done(d->arg, atomic_load(&d->closed));
	free(d->name);
	free(d);
}

int exports_disconnect(struct server *server, const char *name,
		       void (*done)(void *arg, unsigned closed), void *arg)
{
	unsigned i, n = server->worker_count;
	struct disconnect *d = calloc(1, sizeof(*d) + n * sizeof(d->look[0]));

	if (d)
		d->name = strdup(name);
	if (!d || !d->name) {
		free(d);
		return -ENOMEM;
	}
	d->done = done;
	d->arg = arg;
	d->left = n;
	for (i = 0; i < n; i++) {
		d->look[i].run = on_look;
		d->look[i].arg = d;
		worker_send(&server->workers[i], &d->look[i]);
	}
	return 0;
}
