/* SPDX-License-Identifier: BSD-3-Clause */
/* See reload.h. */
#include "reload.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "disks.h"
#include "server-limits.h"
#include "listener.h"
#include "log.h"
#include "mainbox.h"
#include "making.h"
#include "secure.h"

/* ------------------------------------------------ what stays until a restart */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void keep_count(struct config_errors *lines, const char *key,
		       unsigned now, unsigned *wanted)
{
	if (*wanted != now)
		config_error(lines, "%s = %u: needs a restart; it is %u now",
			     key, *wanted, now);
	*wanted = now;
}

static void keep_size(struct config_errors *lines, const char *key,
		      uint64_t now, uint64_t *wanted)
{
	if (*wanted != now)
		config_error(lines, "%s: needs a restart; it is as it was",
			     key);
	*wanted = now;
}

/* Exchanged, so that each is freed with the other configuration. */
static void keep_text(struct config_errors *lines, const char *key, char **now,
		      char **wanted)
{
	char *other = *wanted;

	if (same_text(*now, *wanted))
		return;
	config_error(lines, "%s = %s: needs a restart; it is %s now", key,
		     other ? other : "none", *now ? *now : "none");
	*wanted = *now;
	*now = other;
}

static void keep_settings(const struct config *now, struct config *wanted,
			  struct config_errors *lines)
{
	if (wanted->hugepages != now->hugepages || wanted->lock != now->lock ||
	    wanted->numa != now->numa)
		config_error(lines, "hugepages, lock and numa: need a restart; "
				    "they are as they were");
	wanted->hugepages = now->hugepages;
	wanted->lock = now->lock;
	wanted->numa = now->numa;
}

/* So that the configuration says what is the case, also to the next reload. */
static void keep_fixed(struct config *now, struct config *wanted,
		       struct config_errors *lines)
{
	keep_count(lines, "workers", now->workers, &wanted->workers);
	keep_size(lines, "size of the pool", now->pool_size,
		  &wanted->pool_size);
	keep_size(lines, "warm", now->warm, &wanted->warm);
	keep_size(lines, "headroom", now->headroom, &wanted->headroom);
	keep_settings(now, wanted, lines);
	keep_text(lines, "path", &now->pool_path, &wanted->pool_path);
	keep_text(lines, "control", &now->control, &wanted->control);
	wanted->control_asked = now->control_asked;
}

/* ------------------------------------------------------------- what is new */

static int by_name(const void *a, const void *b)
{
	const struct export *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int same_name(const void *name, const void *e)
{
	return strcmp(name, (*(struct export *const *)e)->name);
}

/* What was exported before, sorted, and what of it is exported again. */
struct before {
	struct export **list;
	unsigned count;
	bool *again;
};

static void before_free(struct exports *exports, struct before *b)
{
	exports_free(exports, b->list, b->count);
	free(b->again);
}

static int before_take(struct exports *exports, struct before *b)
{
	b->list = exports_all(exports, &b->count);
	b->again = calloc(b->count + 1, sizeof(*b->again));
	if (!b->again || (!b->list && b->count > 0)) {
		before_free(exports, b);
		return -ENOMEM;
	}
	if (b->count > 0)
		qsort(b->list, b->count, sizeof(*b->list), by_name);
	return 0;
}

static void tell_changed(const struct export *old, const struct export *e,
			 struct config_errors *lines)
{
	if (old->readonly != e->readonly)
		config_error(lines, "export %s: readonly = %s, for new clients",
			     e->name, e->readonly ? "yes" : "no");
	if (old->is_default != e->is_default)
		config_error(lines, "export %s: is %s the default", e->name,
			     e->is_default ? "now" : "no longer");
	if (!same_text(old->allow_text, e->allow_text))
		config_error(lines, "export %s: allow = %s, for new clients",
			     e->name, e->allow_text ? e->allow_text : "any");
	if (old->many_writers != e->many_writers)
		config_error(lines, "export %s: writers = %s, for new clients",
			     e->name, e->many_writers ? "many" : "host");
	if (old->detect_zeroes != e->detect_zeroes)
		config_error(lines, "export %s: detect-zeroes = %s", e->name,
			     e->detect_zeroes ? "yes" : "no");
	if (old->max_connections != e->max_connections)
		config_error(lines, "export %s: max-connections = %u", e->name,
			     e->max_connections);
	if (old->template)
		config_error(lines,
			     "export %s: was made by template %s, and is the "
			     "configuration's now",
			     e->name, old->template);
	if (old->by_command)
		config_error(lines,
			     "export %s: was made by command, and is the "
			     "configuration's now",
			     e->name);
}

static void tell_gone(const struct export *e, struct config_errors *lines)
{
	unsigned clients = export_connections(e);

	if (clients > 0)
		config_error(lines,
			     "export %s: no longer exported, its disk is kept; "
			     "clients that have it open go on (%u)",
			     e->name, clients);
	else
		config_error(lines,
			     "export %s: no longer exported, its disk is kept",
			     e->name);
}

static void tell_exports(struct before *b, const struct disks_plan *plan,
			 struct config_errors *lines)
{
	struct export **old;
	unsigned i;

	for (i = 0; i < plan->count; i++) {
		old = b->count > 0
			      ? bsearch(plan->fresh[i]->name, b->list, b->count,
					sizeof(*b->list), same_name)
			      : NULL;
		if (old) {
			b->again[old - b->list] = true;
			tell_changed(*old, plan->fresh[i], lines);
		} else {
			config_error(lines, "export %s: is exported now",
				     plan->fresh[i]->name);
		}
	}
	for (i = 0; i < b->count; i++) {
		if (!b->list[i]->by_command && !b->list[i]->template &&
		    !b->again[i])
			tell_gone(b->list[i], lines);
	}
}

static void tell_count(struct config_errors *lines, const char *key,
		       unsigned old, unsigned now)
{
	if (old != now)
		config_error(lines, "%s = %u", key, now);
}

static void tell_text(struct config_errors *lines, const char *key,
		      const char *old, const char *now)
{
	if (!same_text(old, now))
		config_error(lines, "%s = %s", key, now ? now : "default");
}

static void tell_limits(const struct config *old, const struct config *now,
			struct config_errors *lines)
{
	static const char *const words[] = {"off", "on", "require"};

	tell_count(lines, "max-connections", old->max_connections,
		   now->max_connections);
	tell_count(lines, "max-unfinished", old->max_unfinished,
		   now->max_unfinished);
	tell_count(lines, "max-per-address", old->max_per_address,
		   now->max_per_address);
	tell_count(lines, "busy-poll", old->busy_poll_usec,
		   now->busy_poll_usec);
	if (old->handshake_msec != now->handshake_msec)
		config_error(lines, "handshake-timeout = %ums",
			     now->handshake_msec);
	if (old->tls != now->tls)
		config_error(lines, "tls = %s, for new clients",
			     words[now->tls]);
	tell_text(lines, "tls-dir", old->tls_dir, now->tls_dir);
	tell_text(lines, "tls-ciphers", old->tls_ciphers, now->tls_ciphers);
	if (old->tls_verify != now->tls_verify)
		config_error(lines, "tls-verify = %s",
			     now->tls_verify ? "yes" : "no");
	if (old->full_msec != now->full_msec && now->full_msec)
		config_error(lines, "full = wait %ums", now->full_msec);
	else if (old->full_msec != now->full_msec)
		config_error(lines, "full = error");
	if (old->insecure != now->insecure)
		config_error(lines, "insecure = %s",
			     now->insecure ? "yes" : "no");
}

static void tell_listener(void *arg, const char *address, bool opened)
{
	config_error(arg, "%s %s",
		     opened ? "listening to" : "no longer listening to",
		     address);
}

/* -------------------------------------------------------------- the change */

static void tell_default(struct server *s, struct config_errors *errors)
{
	struct export *e = exports_get(&s->exports, "");

	config_error(errors,
		     "%s, which was made by command, is the default already; "
		     "there can be one",
		     e ? e->name : "another export");
	export_put(&s->exports, e);
}

/* Everything that can fail besides; files of TLS and disks are ready, or were not
 * to be had (`so_far`). */
static int prepare(struct server *s, const struct config *config,
		   struct disks_plan *plan, int so_far,
		   struct config_errors *errors)
{
	int error = listeners_prepare(s->listeners, config, errors);
	int result = so_far;

	if (!error && !result) {
		result = exports_replace(&s->exports, plan->fresh, plan->count);
		if (result == -EEXIST)
			tell_default(s, errors);
		else if (result)
			config_error(errors, "no memory for exports");
	}
	if (!error && !result)
		return 0;
	if (!error)
		listeners_undo(s->listeners);
	return error ? error : result;
}

/* *config becomes what was in force before. */
static void exchange(struct server *s, struct config *config,
		     struct config_errors *lines)
{
	struct config old;

	pthread_mutex_lock(&s->config_lock);
	keep_fixed(s->config, config, lines);
	old = *s->config;
	*s->config = *config;
	pthread_mutex_unlock(&s->config_lock);
	*config = old;
	limits_apply(s);
}

struct change {
	struct server *server;
	struct config *config;
	const struct disks_watch *watch;
	struct reload_report *report;
	struct disks_plan plan;
	struct io_tls *tls; /* NULL: none */
	int so_far;	    /* how these went */
	int error;
};

static int change(struct change *c)
{
	struct config_errors *lines = &c->report->changes;
	struct config *config = c->config;
	struct server *s = c->server;
	struct before before;
	int error;

	if (before_take(&s->exports, &before)) {
		config_error(&c->report->errors, "no memory for exports");
		return -ENOMEM;
	}
	error = prepare(s, config, &c->plan, c->so_far, &c->report->errors);
	if (!error) {
		if (c->tls && s->tls && !io_tls_same(c->tls, s->tls))
			config_error(lines, "tls: the files are others now; "
					    "new clients meet them");
		tell_exports(&before, &c->plan, lines);
		disks_changes(&c->plan, lines);
		disks_differences(&c->plan, s->pool, config, lines);
		makers_differences(s->config, config, lines);
		tell_limits(s->config, config, lines);
		listeners_commit(s->listeners, tell_listener, lines);
		exchange(s, config, lines);
		secure_exchange(s, c->tls);
		disks_keep(&s->exports, &c->plan);
	}
	before_free(&s->exports, &before);
	return error;
}

static void change_on_main(void *arg)
{
	struct change *c = arg;

	c->error = change(c);
}

static bool given_up(const struct change *c)
{
	return c->watch && c->watch->progress(c->watch->arg, 0, 0);
}

/* What may take long; what takes memory only if the rest is right. */
static int get_ready(struct change *c)
{
	struct server *s = c->server;
	struct config_errors *errors = &c->report->errors;
	int error = given_up(c) ? -ECANCELED
				: secure_load(c->config, &c->tls, errors);

	if (!error)
		error = disks_prepare(&s->exports, s->pool, c->config, c->watch,
				      &c->plan, errors);
	return error;
}

/* Files and disks first; then all the rest at once, where nobody looks at the
 * configuration meanwhile. */
static int apply(struct change *c)
{
	struct server *s = c->server;
	struct config_errors *errors = &c->report->errors;

	pthread_mutex_lock(&s->change_lock);
	c->so_far = get_ready(c);
	if (given_up(c)) {
		config_errors_free(errors);
		config_error(errors, "it was given up");
		c->error = -ECANCELED;
	} else if (!mainbox_run(s->mainbox, change_on_main, c)) {
		config_error(errors, "the daemon stops");
		c->error = -ECANCELED;
	}
	if (c->error) {
		disks_undo(&s->exports, &c->plan);
		io_tls_put(c->tls);
	} else {
		makers_reloaded(s, &c->report->changes);
	}
	pthread_mutex_unlock(&s->change_lock);
	return c->error;
}

int server_reload(struct server *server, const struct disks_watch *watch,
		  struct reload_report *report)
{
	struct config config;
	struct change c = {.server = server,
			   .config = &config,
			   .watch = watch,
			   .report = report};

	memset(report, 0, sizeof(*report));
	c.error = config_load(server->sources, &config, &report->errors);
	if (!c.error)
		c.error = apply(&c);
	config_free(&config);
	return c.error;
}

void reload_report_free(struct reload_report *report)
{
	config_errors_free(&report->errors);
	config_errors_free(&report->changes);
}

/* ----------------------------------------------------------------- SIGHUP */

/* systemd wants to know when this began, by its own clock. */
void tell_reloading(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   (uint64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
}

static void log_lines(enum log_level level, const struct config_errors *lines)
{
	char *line;
	unsigned i;

	for (i = 0; i < lines->count; i++) {
		if (asprintf(&line, "reload: %s", lines->lines[i]) < 0)
			continue;
		log_text(level, line);
		free(line);
	}
	if (lines->more > 0)
		log_line(level, "reload: and %u more", lines->more);
}

int server_reload_told(struct server *server, const struct disks_watch *watch,
		       struct reload_report *report)
{
	int error;

	tell_reloading();
	error = server_reload(server, watch, report);
	log_lines(LOG_INFO, &report->changes);
	log_lines(LOG_ERROR, &report->errors);
	if (error && report->errors.count == 0)
		log_error("reload: %s", strerror(-error));
	if (error)
		log_text(LOG_ERROR, "reload: nothing was changed");
	else if (report->changes.count == 0)
		log_text(LOG_INFO, "reload: done, nothing is different");
	else
		log_text(LOG_INFO, "reload: done");
	sd_notify(0, "READY=1");
	return error;
}

struct reloader {
	struct server *server;
	pthread_mutex_t lock;
	pthread_t thread;
	bool begun; /* the thread is to be joined; the main thread's */
	/* Guarded by lock. */
	bool runs;  /* the thread has more to do */
	bool again; /* asked for once more meanwhile */
};

static bool once_more(struct reloader *r)
{
	bool again;

	pthread_mutex_lock(&r->lock);
	again = r->again;
	r->again = false;
	r->runs = again;
	pthread_mutex_unlock(&r->lock);
	return again;
}

static void *reload(void *arg)
{
	struct reloader *r = arg;
	struct reload_report report;

	do {
		server_reload_told(r->server, NULL, &report);
		reload_report_free(&report);
	} while (once_more(r));
	return NULL;
}

struct reloader *reloader_open(struct server *server)
{
	struct reloader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->server = server;
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void reloader_run(struct reloader *r)
{
	bool runs;
	int error;

	pthread_mutex_lock(&r->lock);
	runs = r->runs;
	r->again = runs;
	r->runs = true;
	pthread_mutex_unlock(&r->lock);
	if (runs)
		return;
	if (r->begun)
		pthread_join(r->thread, NULL);
	error = pthread_create(&r->thread, NULL, reload, r);
	r->begun = !error;
	if (!error)
		return;
	r->runs = false;
	log_error("reload: cannot start a thread: %s; nothing was changed",
		  strerror(error));
}

void reloader_close(struct reloader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->again = false;
	pthread_mutex_unlock(&r->lock);
	if (r->begun)
		pthread_join(r->thread, NULL);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
