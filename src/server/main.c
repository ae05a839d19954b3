/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramd: the order of start and stop; no logic. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "aside.h"
#include "check.h"
#include "config-try.h"
#include "control-socket.h"
#include "disks.h"
#include "early-stop.h"
#include "hostmem.h"
#include "server-limits.h"
#include "listener.h"
#include "log.h"
#include "mainbox.h"
#include "options.h"
#include "pool-before.h"
#include "pool-watch.h"
#include "reload.h"
#include "secure.h"
#include "server.h"
#include "worker.h"

#define EXIT_USAGE 2

/* So many half seconds a start goes on with what it cannot be told to stop. */
#define STOP_TICKS 4

struct start {
	struct server *server;
	struct event_base *base;
	struct control_socket *control; /* NULL: none, and why */
	struct ram_why why;
	struct disks_plan plan;
	struct config_errors errors;
	int error;	/* of what was run aside */
	unsigned ticks; /* since it is to stop */
};

/* 0 to 2 must be taken, or a client's socket would get a message meant for
 * standard error. */
static void keep_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
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

static void stop_workers(struct server *s)
{
	unsigned i;

	for (i = 0; i < s->worker_count; i++)
		worker_stop(&s->workers[i]);
	for (i = 0; i < s->worker_count; i++)
		worker_join(&s->workers[i]);
	/* What was sent too late frees itself when it is run; it may send once
	 * more. */
	for (i = 0; i < 2 * s->worker_count; i++)
		worker_run_errands(&s->workers[i % s->worker_count]);
	for (i = 0; i < s->worker_count; i++)
		worker_destroy(&s->workers[i]);
	free(s->workers);
	s->workers = NULL;
	s->worker_count = 0;
}

/* ---------------------------------------------------------------- serving */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	log_info("%s: stopping", number == SIGTERM ? "SIGTERM" : "SIGINT");
	sd_notify(0, "STOPPING=1");
	event_base_loopbreak(arg);
}

static void on_reload(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	reloader_run(arg);
}

static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	sd_notify(0, "WATCHDOG=1");
}

static struct event *watchdog(struct event_base *base)
{
	struct timeval interval;
	struct event *event;
	uint64_t usec;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return NULL;
	usec /= 2;
	interval.tv_sec = usec / 1000000;
	interval.tv_usec = usec % 1000000;
	event = event_new(base, -1, EV_PERSIST, on_watchdog, NULL);
	if (event)
		event_add(event, &interval);
	return event;
}

static void log_errors(struct config_errors *errors)
{
	unsigned i;

	for (i = 0; i < errors->count; i++)
		log_text(LOG_ERROR, errors->lines[i]);
	if (errors->more > 0)
		log_error("and %u more mistakes", errors->more);
	config_errors_free(errors);
}

static int open_listeners(struct server *s, struct event_base *base)
{
	struct config_errors errors = {0};
	int error;

	s->listeners = listeners_new(s, base);
	if (!s->listeners) {
		log_error("no memory for listeners");
		return -ENOMEM;
	}
	error = listeners_prepare(s->listeners, s->config, &errors);
	log_errors(&errors);
	return error;
}

/* For nbdramctl. One that was not asked for may be missing: a second server on
 * this host, or a user's, has no place for it. */
static int open_control(struct start *start)
{
	struct server *s = start->server;

	start->control = control_socket_open(s, start->base, &start->why);
	if (start->control || !s->config->control_asked)
		return 0;
	log_error("control socket: %s", start->why.text);
	return -EINVAL;
}

static int open_tls(struct server *s)
{
	struct config_errors errors = {0};
	struct io_tls *tls;
	int error = secure_load(s->config, &tls, &errors);

	log_errors(&errors);
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

	if (!early_stop_asked() || ++start->ticks < STOP_TICKS)
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
		.hugepages = (enum ram_pages)o->hugepages,
		.lock = o->lock,
		.numa = o->numa,
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

	start->error = disks_prepare(&s->exports, s->pool, s->config, NULL,
				     &start->plan, &start->errors);
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
	log_errors(errors);
	if (error) {
		disks_undo(&s->exports, plan);
		return error;
	}
	disks_differences(plan, s->pool, s->config, errors);
	for (i = 0; i < errors->count; i++)
		log_text(LOG_WARNING, errors->lines[i]);
	config_errors_free(errors);
	disks_keep(&s->exports, plan);
	disks_restore(&s->exports, s->pool);
	warn_nothing(s);
	return 0;
}

/* ------------------------------------------------------------- begin, end */

/* Whatever may fail, and disks as the last of it: a start that fails leaves the
 * pool as it was. -EINTR: it is to stop already. */
static int begin(struct start *start)
{
	struct server *s = start->server;
	int error = open_tls(s);

	if (!error)
		error = open_listeners(s, start->base);
	if (!error)
		error = open_pool(start);
	if (!error)
		error = open_control(start);
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

static void wait_for_end(struct start *start)
{
	struct pool_watch *watch;

	listeners_commit(start->server->listeners, NULL, NULL);
	if (start->control)
		control_socket_start(start->control);
	early_stop_end();
	sd_notify(0, "READY=1");
	watch = pool_watch_start(start->base, start->server->pool);
	event_base_dispatch(start->base);
	pool_watch_stop(watch);
	/* Reloads that are under way are given up. */
	exports_stop(&start->server->exports);
	mainbox_close(start->server->mainbox);
}

/* Begin, say so, wait for the end. Negative: it has not begun. */
static int serve(struct server *s, struct event_base *base)
{
	struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
	struct event *intr = evsignal_new(base, SIGINT, on_signal, base);
	struct reloader *reloader = reloader_open(s);
	struct event *hup = evsignal_new(base, SIGHUP, on_reload, reloader);
	struct event *dog = watchdog(base);
	struct start start = {.server = s, .base = base};
	int error = -ENOMEM;

	s->mainbox = mainbox_open(base);
	if (term && intr && hup && reloader && s->mainbox)
		error = begin(&start);
	else
		log_error("no memory for an event loop");

	if (!error) {
		event_add(term, NULL);
		event_add(intr, NULL);
		event_add(hup, NULL);
		wait_for_end(&start);
	}
	listeners_close(s->listeners);
	mainbox_close(s->mainbox);
	control_socket_close(start.control);
	reloader_close(reloader);
	stop_workers(s);
	mainbox_free(s->mainbox);
	if (term)
		event_free(term);
	if (intr)
		event_free(intr);
	if (hup)
		event_free(hup);
	if (dog)
		event_free(dog);
	return error;
}

/* A quarter of what the host keeps for itself. */
static uint64_t socket_memory(void)
{
	struct host_memory host;

	if (host_memory_read(&host))
		return UINT64_C(256) << 20;
	return max_u64(UINT64_C(1) << 30, host.total / 10) / 4;
}

static int run(struct options *o)
{
	struct server server = {.config = &o->config, .sources = &o->sources};
	struct event_base *base = event_base_new();
	struct pool_before before;
	int error;

	if (!base) {
		log_error("cannot make an event loop");
		return EXIT_FAILURE;
	}
	early_stop_begin();
	server.began = now_msec();
	pthread_mutex_init(&server.config_lock, NULL);
	pthread_mutex_init(&server.change_lock, NULL);
	limits_apply(&server);
	server.socket_memory = socket_memory();
	addresses_init(&server.addresses);
	sessions_init(&server.sessions);
	exports_init(&server.exports);
	pool_before_look(&before, o->config.pool_path);
	error = serve(&server, base);
	secure_exchange(&server, NULL);
	exports_destroy(&server.exports);
	if (error && server.pool)
		pool_before_restore(&before, server.pool);
	pool_before_free(&before);
	ram_pool_close(server.pool);
	event_base_free(base);
	sessions_destroy(&server.sessions);
	addresses_destroy(&server.addresses);
	pthread_mutex_destroy(&server.change_lock);
	pthread_mutex_destroy(&server.config_lock);
	return error && error != -EINTR ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int try(const struct config *config)
{
	struct config_errors errors = {0};
	int error = config_try(config, &errors);

	log_errors(&errors);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options options;
	int result = EXIT_SUCCESS;

	keep_descriptors();
	signal(SIGPIPE, SIG_IGN);
	/* Until there is something to reload. */
	signal(SIGHUP, SIG_IGN);
	switch (options_parse(&options, argc, argv)) {
	case OPTIONS_WRONG:
		result = EXIT_USAGE;
		break;
	case OPTIONS_FAILED:
		result = EXIT_FAILURE;
		break;
	case OPTIONS_DONE:
		break;
	case OPTIONS_RUN:
		if (options.verbose)
			log_set_level(LOG_DEBUG);
		result = options.check_only ? try(&options.config)
					    : run(&options);
		break;
	}
	log_catch_up(true);
	options_free(&options);
	return result;
}
