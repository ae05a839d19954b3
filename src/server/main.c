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

#include "check.h"
#include "config-try.h"
#include "control-socket.h"
#include "early-stop.h"
#include "expire.h"
#include "fetcher.h"
#include "hostmem.h"
#include "server-limits.h"
#include "listener.h"
#include "log.h"
#include "mainbox.h"
#include "making.h"
#include "options.h"
#include "pool-before.h"
#include "pool-watch.h"
#include "reload.h"
#include "saver.h"
#include "secure.h"
#include "server.h"
#include "start.h"
#include "upgrade.h"
#include "worker.h"

#define EXIT_USAGE 2

/* Time for replies that were begun: when the server stops, and when clients are to
 * find another one here at once. */
#define STOP_MSEC 3000
#define UPGRADE_STOP_MSEC 2000

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

/* What they have counted goes on. */
static void keep_stats(struct server *s)
{
	unsigned i, k;

	for (i = 0; i < s->worker_count; i++) {
		for (k = 0; k < STATS; k++)
			stats_add(&s->stats, k,
				  stats_get(&s->workers[i].stats, k));
	}
}

static void stop_workers(struct server *s)
{
	unsigned i;

	for (i = 0; i < s->worker_count; i++)
		worker_stop(&s->workers[i]);
	for (i = 0; i < s->worker_count; i++)
		worker_join(&s->workers[i]);
	/* Nobody asks any more; answers find nobody. */
	makers_close(s->makers);
	s->makers = NULL;
	/* What was sent too late frees itself when it is run; it may send once
	 * more. */
	for (i = 0; i < 2 * s->worker_count; i++)
		worker_run_errands(&s->workers[i % s->worker_count]);
	keep_stats(s);
	for (i = 0; i < s->worker_count; i++)
		worker_destroy(&s->workers[i]);
	free(s->workers);
	s->workers = NULL;
	s->worker_count = 0;
}

/* ---------------------------------------------------------------- serving */

struct serving {
	struct start start;
	struct upgrade *upgrade;
	bool stopped; /* by a signal */
};

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct serving *serving = arg;

	(void)what;
	log_info("%s: stopping", number == SIGTERM ? "SIGTERM" : "SIGINT");
	sd_notify(0, "STOPPING=1");
	serving->stopped = true;
	event_base_loopbreak(serving->start.base);
}

static void on_upgrade(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	upgrade_begin(arg);
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

/* Clients are let in; then whoever was here before us may go. */
static void begin_to_serve(struct start *start)
{
	struct server *s = start->server;

	listeners_commit(s->listeners, NULL, NULL);
	if (start->control)
		control_socket_start(start->control);
	if (start->before) {
		predecessor_serving(start->before);
		handover_forget_control(&start->before->had,
					s->config->control);
		predecessor_free(start->before);
	}
	start->before = NULL;
	start->had = NULL;
	early_stop_end();
	sd_notify(0, "READY=1");
}

/* True: another is to go on with what we have. */
static bool wait_for_end(struct serving *serving)
{
	struct start *start = &serving->start;
	struct server *s = start->server;
	struct pool_watch *watch;
	struct expiry *expiry;

	begin_to_serve(start);
	upgrade_serving(serving->upgrade, s, start->control, start->base);
	watch = pool_watch_start(start->base, s->pool);
	expiry = expiry_start(start->base, s);
	event_base_dispatch(start->base);
	expiry_stop(expiry);
	pool_watch_stop(watch);
	/* Reloads that are under way are given up. */
	exports_stop(&s->exports);
	mainbox_close(s->mainbox);
	if (serving->stopped) {
		/* One more is for who saves disks. */
		early_stop_begin();
		return false;
	}
	if (!upgrade_is_ready(serving->upgrade))
		return false;
	/* A signal that came in the same moment must not be lost. */
	early_stop_begin();
	event_base_loop(start->base, EVLOOP_NONBLOCK);
	return !serving->stopped;
}

/* Sockets and their files stay, and so do clients that are not accepted yet. */
static void leave_to_another(struct start *start)
{
	atomic_store(&start->server->stop_msec, UPGRADE_STOP_MSEC);
	listeners_keep_files(start->server->listeners);
	control_socket_keep_file(start->control);
}

static void free_event(struct event *event)
{
	if (event)
		event_free(event);
}

/* Begin, say so, wait for the end. Negative: it has not begun; 1: another is to go
 * on, which upgrade_finish() tells. */
static int serve(struct serving *serving)
{
	struct event_base *base = serving->start.base;
	struct server *s = serving->start.server;
	struct event *term = evsignal_new(base, SIGTERM, on_signal, serving);
	struct event *intr = evsignal_new(base, SIGINT, on_signal, serving);
	struct reloader *reloader = reloader_open(s);
	struct event *hup = evsignal_new(base, SIGHUP, on_reload, reloader);
	struct event *usr2 =
		evsignal_new(base, SIGUSR2, on_upgrade, serving->upgrade);
	struct event *dog = watchdog(base);
	int result = -ENOMEM;

	s->mainbox = mainbox_open(base);
	if (term && intr && hup && usr2 && reloader && s->mainbox)
		result = start_begin(&serving->start);
	else
		log_error("no memory for an event loop");

	if (!result) {
		event_add(term, NULL);
		event_add(intr, NULL);
		event_add(hup, NULL);
		event_add(usr2, NULL);
		result = wait_for_end(serving);
		if (result)
			leave_to_another(&serving->start);
		else
			upgrade_is_over(serving->upgrade);
	}
	listeners_close(s->listeners);
	s->listeners = NULL;
	mainbox_close(s->mainbox);
	control_socket_close(serving->start.control);
	reloader_close(reloader);
	saver_stop(s->saver);
	stop_workers(s);
	mainbox_free(s->mainbox);
	free_event(term);
	free_event(intr);
	free_event(hup);
	free_event(usr2);
	free_event(dog);
	return result;
}

/* A quarter of what the host keeps for itself. */
static uint64_t socket_memory(void)
{
	struct host_memory host;

	if (host_memory_read(&host))
		return UINT64_C(256) << 20;
	return max_u64(UINT64_C(1) << 30, host.total / 10) / 4;
}

/* Whether memory ends with us that has been served: also when it was taken back from
 * an upgrade that failed and cannot be served on, as when we were told to stop. */
static bool is_last(const struct serving *serving, int result)
{
	const struct server *s = serving->start.server;

	return s->saver && s->pool && !s->config->pool_path &&
	       (result == 0 || (result < 0 && serving->start.again));
}

/* Serve until the end, which is not the end of an upgrade that fails. */
static int serve_on(struct serving *serving, const struct pool_before *before)
{
	struct server *s = serving->start.server;
	struct disks_before *disks = NULL;
	int result;

	for (;;) {
		atomic_store(&s->stop_msec, STOP_MSEC);
		exports_init(&s->exports);
		result = serve(serving);
		if (is_last(serving, result) && saver_save_all(s))
			result = -EIO;
		saver_free(s->saver);
		s->saver = NULL;
		/* What is saved at the end may have to be fetched for it. */
		fetcher_stop(s->fetcher);
		s->fetcher = NULL;
		exports_destroy(&s->exports);
		if (result < 0 && s->pool)
			pool_before_restore(before, s->pool);
		disks_before_free(disks);
		disks = result > 0 ? disks_before_look(s->pool) : NULL;
		ram_pool_close(s->pool);
		s->pool = NULL;
		if (result <= 0 || upgrade_finish(serving->upgrade))
			break;
		serving->start = (struct start){
			.server = s,
			.base = serving->start.base,
			.had = upgrade_returned(serving->upgrade),
			.again = true,
			.disks = disks,
		};
	}
	disks_before_free(disks);
	return result < 0 ? result : 0;
}

static int run(struct options *o, char **argv)
{
	struct server server = {.config = &o->config, .sources = &o->sources};
	struct predecessor predecessor;
	struct serving serving = {
		.start = {.server = &server, .base = event_base_new()},
		.upgrade = upgrade_open(argv),
	};
	struct pool_before before;
	int error;

	if (!serving.start.base || !serving.upgrade) {
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
	pool_before_look(&before, o->config.pool_path);
	error = predecessor_open(&predecessor);
	if (predecessor.fd >= 0) {
		serving.start.before = &predecessor;
		serving.start.had = &predecessor.had;
	}
	if (!error)
		error = serve_on(&serving, &before);
	predecessor_free(&predecessor);
	upgrade_close(serving.upgrade);
	secure_exchange(&server, NULL);
	pool_before_free(&before);
	event_base_free(serving.start.base);
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

	start_log_errors(&errors);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options options;
	int result = EXIT_SUCCESS;

	keep_descriptors();
	signal(SIGPIPE, SIG_IGN);
	/* Whoever started us may have left it otherwise: we wait for children. */
	signal(SIGCHLD, SIG_DFL);
	/* Until there is something to reload, or to hand over. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
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
					    : run(&options, argv);
		break;
	}
	log_catch_up(true);
	options_free(&options);
	return result;
}
