/* SPDX-License-Identifier: BSD-3-Clause */
/* See making.h. */
#include "making.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk-make.h"
#include "jobs.h"
#include "log.h"
#include "note.h"
#include "renew.h"

/* Who waits for a disk. */
struct waiter {
	struct waiter *next;
	struct errand errand;
	struct worker *worker;
	uint64_t conn_id;
	struct making_answer answer;
};

struct making {
	struct job job; /* the first */
	struct making *next;
	struct makers *makers;
	/* Changed by its thread, with makers.lock held, which others read it by. */
	struct template_disk disk;
	bool in_session;
	uint8_t session[16];
	struct waiter *waiters; /* guarded by makers.lock */
	/* Its thread's: what the disk is to become, if it is made anew. */
	struct ram_disk *model;
};

struct makers {
	struct server *server;
	struct jobs *jobs;
	pthread_mutex_t lock;
	struct making *list; /* under way; guarded by lock */
	unsigned count;	     /* of them */
};

/* Under way at a time: who asks and goes leaves work behind, and may ask again. */
#define MAKINGS_MOST 2000u

/* ----------------------------------------------------------------- answers */

__attribute__((format(printf, 4, 5))) static int fail(
	struct making_answer *answer, int error, uint32_t rep,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(answer->text, sizeof(answer->text), format, args);
	va_end(args);
	snprintf(answer->why.text, sizeof(answer->why.text), "%s",
		 answer->text);
	answer->rep = rep;
	return error;
}

/* What disk-make.h has found; of it the client learns what concerns it. */
static int fail_made(struct making_answer *answer, int error,
		     struct config_errors *errors)
{
	const char *text = "it cannot be made now; the server's log says why";

	if (error == -ENOSPC)
		text = "the pool has not got the memory for it";
	else if (error == -ECANCELED)
		text = "the server stops";
	fail(answer, error, NBD_REP_ERR_POLICY, "%s", text);
	if (errors->count > 0)
		snprintf(answer->why.text, sizeof(answer->why.text), "%s",
			 errors->lines[0]);
	config_errors_free(errors);
	return error;
}

static int no_memory(struct making_answer *answer)
{
	return fail(answer, -ENOMEM, NBD_REP_ERR_POLICY, "no memory");
}

/* It looks like one that is not there. */
static int fail_others(struct making_answer *answer, const char *why)
{
	fail(answer, -EACCES, NBD_REP_ERR_UNKNOWN, "there is no such export");
	snprintf(answer->why.text, sizeof(answer->why.text), "%s", why);
	return -EACCES;
}

/* ------------------------------------------------------- with change_lock */

/* What its template says now: there may have been a reload since it was asked for. */
static int look_again(struct making *m, struct making_answer *answer)
{
	struct server *s = m->makers->server;
	struct template_disk now, *t = &m->disk;
	int error;

	pthread_mutex_lock(&s->config_lock);
	error = template_again(s->config, t->pattern, t->o.name, &now);
	pthread_mutex_unlock(&s->config_lock);
	if (error == -ENOENT)
		return fail_others(answer, "its template is gone");
	if (error == -EINVAL)
		return fail_others(answer, "its template takes it no longer");
	if (error)
		return no_memory(answer);
	if (now.size_in_name && t->size_in_name)
		now.o.size = t->o.size;
	/* Who asks looks at names and owners. */
	pthread_mutex_lock(&m->makers->lock);
	now.owner = t->owner;
	t->owner = NULL;
	template_disk_free(t);
	*t = now;
	pthread_mutex_unlock(&m->makers->lock);
	return 0;
}

static int ceilings(struct making *m, struct making_answer *answer)
{
	const struct template_disk *t = &m->disk;
	unsigned all, own;

	exports_count(&m->makers->server->exports, t->pattern, t->owner, &all,
		      &own);
	if (t->max_disks > 0 && all >= t->max_disks)
		return fail(answer, -EDQUOT, NBD_REP_ERR_POLICY,
			    "the template has as many disks as it may have "
			    "(max-disks = %u)",
			    t->max_disks);
	if (t->max_each > 0 && own >= t->max_each)
		return fail(answer, -EDQUOT, NBD_REP_ERR_POLICY,
			    "this client has as many disks of the template as "
			    "it may have (max-per-identity = %u)",
			    t->max_each);
	return 0;
}

static int note_session(struct making *m, struct ram_disk *disk)
{
	struct note note, old;

	if (!m->disk.fresh)
		return 0;
	note_load(disk, &note);
	old = note;
	note.in_session = m->in_session;
	memcpy(note.session, m->session, sizeof(note.session));
	return note_same(&note, &old) ? 0 : note_save(disk, &note);
}

static int note_renewed(void *m, struct ram_disk *disk)
{
	return note_session(m, disk);
}

/* Note what it is, then keep it, then show it: a kill in between leaves none, or one
 * whose owner is known. Takes the handle over. */
static int publish(struct making *m, struct ram_disk *disk, bool is_new,
		   struct making_answer *answer)
{
	struct exports *exports = &m->makers->server->exports;
	const struct template_disk *t = &m->disk;
	struct export *e = export_new(exports, disk, &t->o, false);
	int error = e ? export_set_template(e, t, t->owner) : -ENOMEM;

	if (!error)
		error = export_note(e);
	if (!error)
		error = note_session(m, disk);
	if (!error && is_new)
		error = ram_disk_state(disk, RAM_WHOLE);
	if (!error)
		error = exports_restore(exports, e);
	if (!error)
		return 0;
	if (is_new)
		ram_disk_delete(disk);
	if (e)
		export_put(exports, e);
	else
		ram_disk_put(disk);
	if (error == -ENOMEM)
		return no_memory(answer);
	fail(answer, error, NBD_REP_ERR_POLICY, "it cannot be made now");
	snprintf(answer->why.text, sizeof(answer->why.text),
		 "it cannot be noted in the pool: %s", strerror(-error));
	return error;
}

static bool of_session(const struct making *m, const struct note *note)
{
	return m->in_session && note->in_session &&
	       memcmp(m->session, note->session, sizeof(note->session)) == 0;
}

static int fail_fresh(struct making_answer *answer, int error,
		      const struct ram_why *why)
{
	if (error == -ETXTBSY)
		return fail(answer, error, NBD_REP_ERR_POLICY,
			    "another session has the disk open "
			    "(fresh = always)");
	fail(answer, error, NBD_REP_ERR_POLICY,
	     "it cannot be made anew now; the server's log says why");
	answer->why = *why;
	return error;
}

/* One that is not in the list, so nobody comes in; but some who came before may
 * still have it open. */
static int adopt_fresh(struct making *m, struct ram_disk *disk,
		       const struct note *note, struct making_answer *answer)
{
	struct server *s = m->makers->server;
	unsigned clients = exports_clients(&s->exports, disk, false);
	struct ram_why why;
	int error = -ETXTBSY;

	if (!m->disk.fresh || of_session(m, note) ||
	    (clients > 0 && !m->in_session && !note->in_session))
		return 0;
	if (clients == 0)
		error = renew_disk(s, disk, &m->disk.o, m->model, &why);
	return error ? fail_fresh(answer, error, &why) : 0;
}

/* One that was kept when its template was not there, or another one. */
static int adopt(struct making *m, struct ram_disk *disk,
		 struct making_answer *answer)
{
	struct note note;
	int error;

	note_load(disk, &note);
	if (note.foreign || !*note.template ||
	    strcmp(note.owner, m->disk.owner) != 0) {
		ram_disk_put(disk);
		return fail_others(answer,
				   "a disk of this name is there, which no "
				   "template has made for this client");
	}
	error = adopt_fresh(m, disk, &note, answer);
	if (!error)
		return publish(m, disk, false, answer);
	ram_disk_put(disk);
	return error;
}

/* Whether it is the client's, and new if it has to be. */
static int take_exported(struct making *m, struct export *e,
			 struct making_answer *answer)
{
	struct note note;
	struct ram_why why = {"which session it is for cannot be noted"};
	int error;

	/* What the client may do with it is looked at when it enters. */
	if (!e->fresh || !e->owner || strcmp(e->owner, m->disk.owner) != 0)
		return 0;
	note_load(e->disk, &note);
	if (of_session(m, &note))
		return 0;
	if (export_connections(e) > 0 && !m->in_session && !note.in_session)
		return 0;
	error = renew_unused(m->makers->server, e, &m->disk.o, m->model,
			     note_renewed, m, &why);
	/* Somebody without a session came in between: the same device. */
	if (error == -EBUSY && !m->in_session && !note.in_session)
		return 0;
	if (error == -EBUSY)
		error = -ETXTBSY;
	return error ? fail_fresh(answer, error, &why) : 0;
}

/* ------------------------------------------------------------------ making */

static bool takes_long(const struct template_disk *t)
{
	return t->o.fixed || t->o.guarantee > 0 || t->o.image || t->o.format;
}

static int make_new(struct making *m, struct making_answer *answer)
{
	struct server *s = m->makers->server;
	struct config_errors errors = {0};
	const struct template_disk *t = &m->disk;
	struct ram_disk *disk;
	int error;

	if (t->size_in_name && t->o.size == 0)
		return fail(answer, -EINVAL, NBD_REP_ERR_POLICY,
			    "how large? The name has to say so, as in %.60s@8G",
			    t->pattern);
	error = ceilings(m, answer);
	if (error)
		return error;
	/* Nobody sees it before it is published, so others need not wait while
	 * it gets what is to be in it, or waits for memory itself: what expires
	 * may be what it waits for. */
	pthread_mutex_unlock(&s->change_lock);
	error = disk_make(&s->exports, s->pool, &t->o, RAM_MAKING, NULL, &disk,
			  &errors);
	pthread_mutex_lock(&s->change_lock);
	if (error == -EEXIST) {
		config_errors_free(&errors);
		return fail_others(answer, "a disk of this name is being made");
	}
	if (error)
		return fail_made(answer, error, &errors);
	config_errors_free(&errors);
	error = look_again(m, answer);
	if (!error)
		error = ceilings(m, answer);
	if (!error)
		return publish(m, disk, true, answer);
	ram_disk_delete(disk);
	ram_disk_put(disk);
	return error;
}

/* With change_lock. Whether it is there already, and another session's. */
static bool is_used_up(struct making *m, uint64_t *size)
{
	struct ram_disk *disk;
	struct note note;

	if (ram_disk_open(m->makers->server->pool, m->disk.o.name, &disk))
		return false;
	note_load(disk, &note);
	*size = ram_disk_size(disk);
	ram_disk_put(disk);
	return !of_session(m, &note);
}

static bool model_stopped(void *m, uint64_t done, uint64_t all)
{
	(void)done;
	(void)all;
	return job_cancelled(&((struct making *)m)->job);
}

/* A file system is made while others change what they like; whether there is use for
 * it is looked at afterwards. */
static int make_model(struct making *m, struct making_answer *answer)
{
	struct server *s = m->makers->server;
	struct ram_why why;
	uint64_t size;
	bool wanted;
	int error;

	if (!m->disk.fresh || !m->disk.o.format)
		return 0;
	pthread_mutex_lock(&s->change_lock);
	wanted = is_used_up(m, &size);
	pthread_mutex_unlock(&s->change_lock);
	if (!wanted)
		return 0;
	error = renew_model(s, &m->disk.o, size, model_stopped, m, &m->model,
			    &why);
	return error ? fail_fresh(answer, error, &why) : 0;
}

static int make(struct making *m, struct making_answer *answer)
{
	struct server *s = m->makers->server;
	struct ram_disk *disk;
	struct export *e;
	int error;

	if (job_cancelled(&m->job))
		return fail(answer, -ECANCELED, NBD_REP_ERR_SHUTDOWN,
			    "the server stops");
	error = make_model(m, answer);
	if (error)
		return error;
	pthread_mutex_lock(&s->change_lock);
	e = exports_get(&s->exports, m->disk.o.name);
	error = e && !e->fresh ? 0 : look_again(m, answer);
	if (!error && e)
		error = take_exported(m, e, answer);
	else if (!error && ram_disk_open(s->pool, m->disk.o.name, &disk) == 0)
		error = adopt(m, disk, answer);
	else if (!error)
		error = make_new(m, answer);
	export_put(&s->exports, e);
	pthread_mutex_unlock(&s->change_lock);
	return error;
}

/* On the connection's worker. */
static void on_answer(struct worker *w, void *arg)
{
	struct waiter *waiter = arg;
	struct conn *c;

	TAILQ_FOREACH(c, &w->conns, link)
	{
		if (c->id == waiter->conn_id) {
			conn_made(c, &waiter->answer);
			break;
		}
	}
	free(waiter);
}

static void making_free(struct making *m)
{
	template_disk_free(&m->disk);
	free(m);
}

static void run(struct job *job, struct ram_thread *ram)
{
	struct making *m = (struct making *)job, **at;
	struct makers *makers = m->makers;
	struct making_answer answer = {0};
	struct waiter *waiters, *next;

	(void)ram;
	answer.error = make(m, &answer);
	renew_drop(m->model);
	pthread_mutex_lock(&makers->lock);
	for (at = &makers->list; *at != m; at = &(*at)->next)
		;
	*at = m->next;
	makers->count--;
	waiters = m->waiters;
	pthread_mutex_unlock(&makers->lock);
	for (; waiters; waiters = next) {
		next = waiters->next;
		waiters->answer = answer;
		worker_send(waiters->worker, &waiters->errand);
	}
	making_free(m);
}

/* ------------------------------------------------------------------ asking */

/* With the lock. */
static struct making *under_way(struct makers *makers,
				const struct making *wanted)
{
	struct making *m;

	for (m = makers->list; m; m = m->next) {
		if (strcmp(m->disk.o.name, wanted->disk.o.name) == 0 &&
		    strcmp(m->disk.owner, wanted->disk.owner) == 0 &&
		    m->in_session == wanted->in_session &&
		    memcmp(m->session, wanted->session, sizeof(m->session)) ==
			    0)
			break;
	}
	return m;
}

/* With the lock. False: too many are. */
static bool add(struct makers *makers, struct making *m)
{
	if (makers->count >= MAKINGS_MOST)
		return false;
	m->next = makers->list;
	makers->list = m;
	makers->count++;
	return true;
}

static struct making *making_new(struct makers *makers, struct conn *c,
				 struct template_disk *t)
{
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	struct making *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->makers = makers;
	m->disk = *t;
	memset(t, 0, sizeof(*t));
	m->job.run = run;
	m->job.is_long = takes_long(&m->disk);
	m->job.changes = !m->job.is_long;
	m->in_session = l->has_session;
	if (l->has_session)
		memcpy(m->session, l->session.uuid, sizeof(m->session));
	return m;
}

int makers_ask(struct makers *makers, struct conn *c, struct template_disk *t)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));
	struct making *m = waiter ? making_new(makers, c, t) : NULL, *at;

	if (!m) {
		free(waiter);
		return -ENOMEM;
	}
	waiter->worker = c->worker;
	waiter->conn_id = c->id;
	waiter->errand.run = on_answer;
	waiter->errand.arg = waiter;
	pthread_mutex_lock(&makers->lock);
	at = under_way(makers, m);
	if (!at && add(makers, m))
		at = m;
	if (at) {
		waiter->next = at->waiters;
		at->waiters = waiter;
	}
	/* Before it can be looked for and be gone. */
	if (at == m)
		jobs_add(makers->jobs, &m->job);
	pthread_mutex_unlock(&makers->lock);
	if (at != m)
		making_free(m);
	if (!at)
		free(waiter);
	return at ? 0 : -EAGAIN;
}

/* -------------------------------------------------------------- begin, end */

struct makers *makers_open(struct server *server)
{
	struct makers *makers = calloc(1, sizeof(*makers));

	if (!makers)
		return NULL;
	makers->server = server;
	pthread_mutex_init(&makers->lock, NULL);
	makers->jobs = jobs_start(server->pool);
	if (makers->jobs)
		return makers;
	pthread_mutex_destroy(&makers->lock);
	free(makers);
	return NULL;
}

void makers_close(struct makers *makers)
{
	if (!makers)
		return;
	jobs_stop(makers->jobs);
	pthread_mutex_destroy(&makers->lock);
	free(makers);
}
