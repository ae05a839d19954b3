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
#include "control-socket.h"
#include "disks.h"
#include "hostmem.h"
#include "server-limits.h"
#include "listener.h"
#include "log.h"
#include "options.h"
#include "pool-before.h"
#include "reload.h"
#include "secure.h"
#include "server.h"
#include "worker.h"

#define EXIT_USAGE 2

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

static int open_pool(struct server *s)
{
	const struct config *o = s->config;
	struct ram_pool_config config = {
		.size = o->pool_size,
		.warm = o->warm,
		.headroom = RAM_DEFAULT,
		.path = o->pool_path,
	};
	struct ram_usage usage;
	struct ram_why why;
	int error = ram_pool_open(&config, &s->pool, &why);

	if (error) {
		log_error("%s", why.text);
		return error;
	}
	ram_pool_usage(s->pool, &usage);
	s->kept_most = usage.landing / 2;
	error = ram_pool_start(s->pool);
	if (error)
		log_error("cannot start the housekeeper: %s", strerror(-error));
	return error;
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
	server_reload_logged(arg);
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
static int open_control(struct server *s, struct event_base *base,
			struct control_socket **control, struct ram_why *why)
{
	*control = control_socket_open(s, base, why);
	if (*control || !s->config->control_asked)
		return 0;
	log_error("control socket: %s", why->text);
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

/* The disks that are asked for, under their names. */
static int open_exports(struct server *s)
{
	struct config_errors errors = {0};
	struct disks_plan plan;
	unsigned i;
	int error;

	error = disks_prepare(&s->exports, s->pool, s->config, &plan, &errors);
	if (!error)
		error = exports_replace(&s->exports, plan.fresh, plan.count);
	log_errors(&errors);
	if (error) {
		disks_undo(&s->exports, &plan);
		return error;
	}
	disks_differences(&plan, s->config, &errors);
	for (i = 0; i < errors.count; i++)
		log_text(LOG_WARNING, errors.lines[i]);
	config_errors_free(&errors);
	disks_keep(&s->exports, &plan);
	disks_restore(&s->exports, s->pool);
	return 0;
}

static void wait_for_end(struct server *s, struct event_base *base,
			 struct control_socket *control)
{
	listeners_commit(s->listeners, NULL, NULL);
	if (control)
		control_socket_start(control);
	sd_notify(0, "READY=1");
	event_base_dispatch(base);
}

/* Whatever may fail, and disks as the last of it: a start that fails leaves the
 * pool as it was. Then say so, and wait for the end. 0, or 1 when it could not
 * begin. */
static int serve(struct server *s, struct event_base *base)
{
	struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
	struct event *intr = evsignal_new(base, SIGINT, on_signal, base);
	struct event *hup = evsignal_new(base, SIGHUP, on_reload, s);
	struct event *dog = watchdog(base);
	struct control_socket *control = NULL;
	int result = EXIT_FAILURE;
	struct ram_why why;

	if (term && intr && hup && open_tls(s) == 0 &&
	    open_listeners(s, base) == 0 && open_pool(s) == 0 &&
	    open_control(s, base, &control, &why) == 0 &&
	    start_workers(s) == 0 && open_exports(s) == 0) {
		if (!control)
			log_warning("no control socket, nbdramctl cannot be "
				    "used: %s; -s names another",
				    why.text);
		event_add(term, NULL);
		event_add(intr, NULL);
		event_add(hup, NULL);
		wait_for_end(s, base, control);
		result = EXIT_SUCCESS;
	}
	listeners_close(s->listeners);
	control_socket_close(control);
	stop_workers(s);
	if (term)
		event_free(term);
	if (intr)
		event_free(intr);
	if (hup)
		event_free(hup);
	if (dog)
		event_free(dog);
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

static int run(struct options *o)
{
	struct server server = {.config = &o->config, .sources = &o->sources};
	struct event_base *base = event_base_new();
	int result = EXIT_FAILURE;
	struct pool_before before;

	if (!base) {
		log_error("cannot make an event loop");
		return result;
	}
	server.began = now_msec();
	pthread_mutex_init(&server.config_lock, NULL);
	pthread_mutex_init(&server.change_lock, NULL);
	limits_apply(&server);
	server.socket_memory = socket_memory();
	addresses_init(&server.addresses);
	sessions_init(&server.sessions);
	exports_init(&server.exports);
	pool_before_look(&before, o->config.pool_path);
	result = serve(&server, base);
	secure_exchange(&server, NULL);
	exports_destroy(&server.exports);
	if (result && server.pool)
		pool_before_restore(&before, server.pool);
	pool_before_free(&before);
	ram_pool_close(server.pool);
	event_base_free(base);
	sessions_destroy(&server.sessions);
	addresses_destroy(&server.addresses);
	pthread_mutex_destroy(&server.change_lock);
	pthread_mutex_destroy(&server.config_lock);
	return result;
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
		if (!options.check_only)
			result = run(&options);
		break;
	}
	options_free(&options);
	return result;
}
