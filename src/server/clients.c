/* SPDX-License-Identifier: BSD-3-Clause */
/* See clients.h. */
#include "clients.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "tls.h"

/* ---------------------------------------------------------------- asking */

struct question {
	void (*look)(struct worker *w, void *arg);
	void *arg;
	sem_t answered;
};

static void on_question(struct worker *w, void *arg)
{
	struct question *q = arg;

	q->look(w, q->arg);
	sem_post(&q->answered);
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0) {
		/* a signal */
	}
}

int workers_ask(struct server *s, void (*look)(struct worker *w, void *arg),
		void *arg)
{
	struct question q = {.look = look, .arg = arg};
	struct errand *errands = calloc(s->worker_count, sizeof(*errands));
	unsigned i;

	if (!errands)
		return -ENOMEM;
	sem_init(&q.answered, 0, 0);
	for (i = 0; i < s->worker_count; i++) {
		errands[i].run = on_question;
		errands[i].arg = &q;
		worker_send(&s->workers[i], &errands[i]);
	}
	for (i = 0; i < s->worker_count; i++)
		wait_for(&q.answered);
	sem_destroy(&q.answered);
	free(errands);
	return 0;
}

/* --------------------------------------------------------------- listing */

struct listing {
	pthread_mutex_t lock;
	struct client *clients; /* guarded by lock, as all below */
	size_t count, room;
	int error;
};

static const char *state_word(const struct conn *c)
{
	if (c->stalled || c->parked)
		return "waits for memory";
	switch (c->state) {
	case CONN_HANDSHAKE:
	case CONN_TLS:
		return "handshake";
	case CONN_PAYLOAD:
		return "sends";
	case CONN_DRAIN:
	case CONN_REFUSED:
		return "leaves";
	default:
		return "open";
	}
}

static int add(struct listing *l, const struct conn *c)
{
	size_t room = l->room ? 2 * l->room : 64;
	struct client *client;

	if (l->count == l->room) {
		client = realloc(l->clients, room * sizeof(*client));
		if (!client)
			return -ENOMEM;
		l->clients = client;
		l->room = room;
	}
	client = &l->clients[l->count];
	memset(client, 0, sizeof(*client));
	client->id = c->id;
	strncpy(client->peer, c->peer, sizeof(client->peer) - 1);
	memcpy(client->who, c->identity.text, sizeof(client->who));
	if (c->io.tls && c->state != CONN_TLS && c->state != CONN_REFUSED) {
		client->tls_version = io_tls_version(&c->io);
		client->tls_cipher = io_tls_cipher(&c->io);
	}
	client->state = state_word(c);
	client->in_session = c->in_session;
	client->seconds = (now_msec() - c->began) / 1000;
	client->requests = c->requests;
	client->read = c->read;
	client->written = c->written;
	if (c->export && !c->handshake) {
		client->readonly = !c->writes;
		client->export_name = strdup(c->export->name);
		if (!client->export_name)
			return -ENOMEM;
	}
	l->count++;
	return 0;
}

static void on_list(struct worker *w, void *arg)
{
	struct listing *l = arg;
	struct conn *c;

	pthread_mutex_lock(&l->lock);
	TAILQ_FOREACH(c, &w->conns, link)
	{
		if (!l->error)
			l->error = add(l, c);
	}
	pthread_mutex_unlock(&l->lock);
}

static int by_id(const void *a, const void *b)
{
	const struct client *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int clients_list(struct server *s, struct client **clients, size_t *count)
{
	struct listing l = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int error = workers_ask(s, on_list, &l);

	if (!error)
		error = l.error;
	if (error) {
		clients_free(l.clients, l.count);
		return error;
	}
	if (l.count > 0)
		qsort(l.clients, l.count, sizeof(*l.clients), by_id);
	*clients = l.clients;
	*count = l.count;
	return 0;
}

void clients_free(struct client *clients, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		free(clients[i].export_name);
	free(clients);
}

/* ---------------------------------------------------------- disconnecting */

struct victim {
	uint64_t id;
	_Atomic bool found;
};

static void on_victim(struct worker *w, void *arg)
{
	struct victim *v = arg;
	struct conn *c;

	TAILQ_FOREACH(c, &w->conns, link)
	{
		if (c->id != v->id)
			continue;
		conn_close(c, "it was disconnected by command");
		atomic_store(&v->found, true);
		return;
	}
}

int clients_disconnect(struct server *s, uint64_t id)
{
	struct victim v = {.id = id};
	int error = workers_ask(s, on_victim, &v);

	return error ? error : atomic_load(&v.found) ? 0 : -ENOENT;
}

struct all_gone {
	sem_t done;
	unsigned closed;
};

static void on_all_gone(void *arg, unsigned closed)
{
	struct all_gone *a = arg;

	a->closed = closed;
	sem_post(&a->done);
}

int clients_disconnect_export(struct server *s, const char *name,
			      unsigned *closed)
{
	struct all_gone a = {.closed = 0};
	int error;

	sem_init(&a.done, 0, 0);
	error = exports_disconnect(s, name, on_all_gone, &a);
	if (!error)
		wait_for(&a.done);
	sem_destroy(&a.done);
	*closed = a.closed;
	return error;
}
