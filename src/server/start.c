/* SPDX-License-Identifier: BSD-3-Clause */
/* See start.h. */
#include "start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "aside.h"
#include "early-stop.h"
#include "fetcher.h"
#include "listener.h"
#include "log.h"
#include "making.h"
#include "saver.h"
#include "secure.h"
#include "worker.h"

/* So many half seconds a start goes on with what it cannot be told to stop. */
#define STOP_TICKS 4

void start_log_errors(struct config_errors *errors)
{
	unsigned i;

	for (i = 0; i < errors->count; i++)
		log_text(LOG_ERROR, errors->lines[i]);
	if (errors->more > 0)
		log_error("and %u more mistakes", errors->more);
	config_errors_free(errors);
}

static int open_listeners(struct start *start)
{
	struct server *s = start->server;
	struct config_errors errors = {0};
	int error = 0;

	s->listeners = listeners_new(s, start->base);
	if (!s->listeners) {
		log_error("no memory for listeners");
		return -ENOMEM;
	}
	if (start->had)
		error = listeners_adopt(s->listeners, start->had, &errors);
	if (!error)
		error = listeners_prepare(s->listeners, s->config, &errors);
	start_log_errors(&errors);
	return error;
}

/* For nbdramctl. One that was not asked for may be missing: a second server on
 * this host, or a user's, has no place for it. */
static int open_control(struct start *start)
{
	struct server *s = start->server;

	start->control = control_socket_open(
		s, start->base, start->had ? &start->had->control : NULL,
		&start->why);
	if (start->control || !s->config->control_asked)
		return 0;
	log_error("control socket: %s", start->why.text);
	return -EINVAL;
}

static int open_tls(struct server *s)
{
	struct config_errors errors = {0};
	struct io_tls *tls;
	int error;

	/* There is one already, and its files may be wrong by now. */
	if (s->tls)
		return 0;
	error = secure_load(s->config, &tls, &errors);
	start_log_errors(&errors);
	if (!error)
		secure_exchange(s, tls);
	return error;
}

/* ---------------------------------------------------------- pool and disks */

/* Opening a large pool, or taking the memory of disks, may last longer than
 * anybody waits for an end. */
static void look_for_stop(void *arg)
{
	struct start *start = arg;

	predecessor_working(start->before);
	sd_notify(0, "WATCHDOG=1");
	if (!early_stop_asked() || ++start->ticks < STOP_TICKS)
		return;
	/* What was taken back from an upgrade may be all there is of it. */
	if (start->again && !start->server->config->pool_path)
		return;
	log_info("stopping, though the start is not through");
	listeners_close(start->server->listeners);
	control_socket_close(start->control);
	_exit(EXIT_SUCCESS);
}

static void work_on_pool(void *arg)
{
	struct start *start = arg;
	struct server *s = start->server;
	const struct config *o = s->config;
	struct ram_pool_config config = {
		.size = o->pool_size,
		.warm = o->warm,
		.headroom = o->headroom,
		.path = o->pool_path,
		.memory_only = !o->any_fs,
		.hugepages = (enum ram_pages)o->hugepages,
		.lock = o->lock,
		.numa = o->numa,
		.given = start->had != NULL,
		.fd = start->had ? start->had->pool : -1,
	};

	start->error = ram_pool_open(&config, &s->pool, &start->why);
}

static int open_pool(struct start *start)
{
	struct ram_usage usage;
	int error;

	aside_run(work_on_pool, start, look_for_stop, start);
	if (start->error) {
		log_error("%s", start->why.text);
		return start->error;
	}
	ram_pool_usage(start->server->pool, &usage);
	start->server->kept_most = usage.landing / 2;
	error = ram_pool_start(start->server->pool);
	if (error)
		log_error("cannot start the housekeeper: %s", strerror(-error));
	return error;
}

static void work_on_disks(void *arg)
{
	struct start *start = arg;
	struct server *s = start->server;

	if (start->again && start->disks)
		disks_before_restore(start->disks, s->pool);
	start->error = start->again
			       ? disks_again(&s->exports, s->pool, s->config,
					     &start->plan)
			       : disks_prepare(&s->exports, s->pool, s->config,
					       NULL, &start->plan,
					       &start->errors);
}

/* All that the pool has besides; that may be very many. */
static void work_on_kept(void *arg)
{
	struct start *start = arg;
	struct server *s = start->server;

	disks_restore(&s->exports, s->pool);
	makers_restore(s);
}

/* Clients would wonder. */
static void warn_nothing(struct server *s)
{
	struct export *e;
	unsigned at;

	if (s->config->template_count > 0)
		return;
	e = exports_next(&s->exports, NULL, &at);
	if (!e)
		log_warning("nothing is exported: there is no [export NAME] in "
			    "the configuration; `nbdramctl create` makes a "
			    "disk, too");
	export_put(&s->exports, e);
}

/* The disks that are asked for, under their names. */
static int open_exports(struct start *start)
{
	struct config_errors *errors = &start->errors;
	struct server *s = start->server;
	struct disks_plan *plan = &start->plan;
	unsigned i;
	int error;

	aside_run(work_on_disks, start, look_for_stop, start);
	error = start->error;
	if (!error)
		error = exports_replace(&s->exports, plan->fresh, plan->count);
	start_log_errors(errors);
	if (error) {
		disks_undo(&s->exports, plan);
		return error;
	}
	if (!start->again)
		disks_differences(plan, s->pool, s->config, errors);
	for (i = 0; i < errors->count; i++)
		log_text(LOG_WARNING, errors->lines[i]);
	config_errors_free(errors);
	disks_keep(&s->exports, plan);
	aside_run(work_on_kept, start, look_for_stop, start);
	warn_nothing(s);
	return 0;
}

/* ------------------------------------------------------------- the order */

static int start_makers(struct server *s)
{
	s->makers = makers_open(s);
	if (s->makers)
		return 0;
	log_error("cannot start the threads that make disks");
	return -ENOMEM;
}

static int start_saver(struct server *s)
{
	s->saver = saver_start(s);
	if (s->saver)
		return 0;
	log_error("cannot start the thread that saves disks");
	return -ENOMEM;
}

static int start_fetcher(struct server *s)
{
	s->fetcher = fetcher_start(s->pool);
	if (s->fetcher)
		return 0;
	log_error("cannot start the thread that loads disks behind");
	return -ENOMEM;
}

static int start_workers(struct server *s)
{
	unsigned n = s->config->workers;
	int error = 0;

	if (n == 0)
		n = sysconf(_SC_NPROCESSORS_ONLN) > 0
			    ? sysconf(_SC_NPROCESSORS_ONLN)
			    : 1;
	s->workers = calloc(n, sizeof(*s->workers));
	if (!s->workers)
		error = -ENOMEM;
	while (!error && s->worker_count < n) {
		error = worker_start(&s->workers[s->worker_count], s,
				     s->worker_count);
		if (!error)
			s->worker_count++;
	}
	if (error)
		log_error("cannot start worker %u of %u: %s",
			  s->worker_count + 1, n, strerror(-error));
	return error;
}

/* The pool is the one that was handed over; another needs a restart. */
static int check_path(const struct start *start)
{
	const char *had = start->had ? start->had->pool_path : NULL;
	const char *path = start->server->config->pool_path;

	if (!start->had || (!had && !path) ||
	    (had && path && strcmp(had, path) == 0))
		return 0;
	log_error("path = %s: needs a restart; an upgrade takes the pool over "
		  "that is there (%s)",
		  path ? path : "(none)", had ? had : "no path");
	return -EINVAL;
}

int start_begin(struct start *start)
{
	struct server *s = start->server;
	int error = check_path(start);

	if (!error)
		error = open_tls(s);
	if (!error)
		error = open_listeners(start);
	if (!error && start->before)
		error = predecessor_ready(start->before);
	if (!error)
		error = open_pool(start);
	if (!error)
		error = open_control(start);
	if (!error)
		error = start_makers(s);
	if (!error)
		error = start_saver(s);
	if (!error)
		error = start_fetcher(s);
	if (!error)
		error = start_workers(s);
	if (!error && early_stop_asked())
		error = -EINTR;
	if (!error)
		error = open_exports(start);
	if (!error && !start->control)
		log_warning("no control socket, nbdramctl cannot be used: %s; "
			    "-s names another",
			    start->why.text);
	return error;
}
