/* SPDX-License-Identifier: BSD-3-Clause */
/* See upgrade.h. */
#include "upgrade.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "check.h"
#include "early-stop.h"
#include "listener.h"
#include "log.h"
#include "predecessor.h"
#include "reload.h"
#include "worker.h"

/* The number that the other's end has there. */
#define CHILD_FD 3

/* A new one that says nothing for so long is ended. It may say that it works, but
 * not for ever: nobody is served meanwhile. */
#define SILENT_SEC 10
#define WORKING_SEC 600

/* The same when this process is to stop. */
#define STOP_MSEC 3000

#define LOOK_MSEC 200

struct upgrade {
	char **argv;
	char *program; /* what is started */

	/* While there is something to hand over. */
	struct server *server;
	struct control_socket *control;
	struct event_base *base;

	/* While one is under way. */
	pid_t pid; /* 0: none is */
	int fd;
	struct event *heard, *timer;
	struct handover handed; /* stays, until the next one */
	unsigned changes;	/* of listeners, when it was handed over */
	bool ready;
};

/* ------------------------------------------------------------- begin, end */

/* By the name by which it was called, which may mean another file by now; but not
 * one that is looked for in PATH. */
static char *program_of(char **argv)
{
	char path[4096];
	ssize_t len;

	if (argv[0] && strchr(argv[0], '/'))
		return strdup(argv[0]);
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len < 0)
		return NULL;
	path[len] = 0;
	return strdup(path);
}

struct upgrade *upgrade_open(char **argv)
{
	struct upgrade *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->argv = argv;
	u->fd = -1;
	handover_init(&u->handed);
	u->program = program_of(argv);
	if (u->program)
		return u;
	upgrade_close(u);
	return NULL;
}

void upgrade_serving(struct upgrade *u, struct server *server,
		     struct control_socket *control, struct event_base *base)
{
	u->server = server;
	u->control = control;
	u->base = base;
}

/* The other has its own; what was handed over stays. */
static void let_go(struct upgrade *u)
{
	if (u->heard)
		event_free(u->heard);
	if (u->timer)
		event_free(u->timer);
	if (u->fd >= 0)
		close(u->fd);
	u->heard = u->timer = NULL;
	u->fd = -1;
	u->pid = 0;
	u->ready = false;
}

/* How it has ended, which it does now at the latest. */
static void end_child(struct upgrade *u, char *how, size_t size)
{
	int status = 0;

	assert(u->pid > 0);
	/* By itself, if it has closed its end already. */
	if (waitpid(u->pid, &status, WNOHANG) != u->pid) {
		kill(u->pid, SIGKILL);
		while (waitpid(u->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (WIFEXITED(status))
		snprintf(how, size, "ended with status %d",
			 WEXITSTATUS(status));
	else
		snprintf(how, size, "was ended by signal %d", WTERMSIG(status));
}

/* It closes its end before it has ended; for so long it is given the time. */
static void wait_for_end(const struct upgrade *u)
{
	const uint64_t until = now_msec() + 1000;
	siginfo_t info;

	do {
		info.si_pid = 0;
		if (waitid(P_PID, u->pid, &info, WEXITED | WNOHANG | WNOWAIT) <
			    0 ||
		    info.si_pid)
			return;
		poll(NULL, 0, 5);
	} while (now_msec() < until);
}

/* It is not to be. why: NULL, it has gone by itself. */
static void give_up(struct upgrade *u, const char *why, const char *when)
{
	int pid = u->pid;
	char how[80];

	if (!why)
		wait_for_end(u);
	end_child(u, how, sizeof(how));
	log_error("upgrade: the new nbdramd (process %d) %s %s; this one goes "
		  "on",
		  pid, why ? why : how, when);
	let_go(u);
	sd_notify(0, "READY=1");
}

void upgrade_close(struct upgrade *u)
{
	char how[80];

	if (!u)
		return;
	if (u->pid)
		end_child(u, how, sizeof(how));
	let_go(u);
	handover_free(&u->handed);
	free(u->program);
	free(u);
}

/* ---------------------------------------------------------------- starting */

/* Ours, but for what is about this process alone. To be freed; the strings are
 * not its own. */
static char **environment(char *added)
{
	static const char *const ours[] = {
		PREDECESSOR_VARIABLE "=",
		"WATCHDOG_PID=",
		"LISTEN_PID=",
		"LISTEN_FDS=",
		"LISTEN_FDNAMES=",
	};
	unsigned n, i, k, kept = 0;
	char **list;

	for (n = 0; environ[n]; n++)
		;
	list = calloc(n + 2, sizeof(*list));
	if (!list)
		return NULL;
	for (i = 0; i < n; i++) {
		for (k = 0; k < ARRAY_SIZE(ours); k++) {
			if (strncmp(environ[i], ours[k], strlen(ours[k])) == 0)
				break;
		}
		if (k == ARRAY_SIZE(ours))
			list[kept++] = environ[i];
	}
	list[kept] = added;
	return list;
}

static int spawn(struct upgrade *u, int its_end)
{
	char added[] = PREDECESSOR_VARIABLE "=3";
	posix_spawn_file_actions_t actions;
	char **env = environment(added);
	posix_spawnattr_t how;
	sigset_t none;
	int error;

	if (!env)
		return -ENOMEM;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawn_file_actions_adddup2(&actions, its_end, CHILD_FD);
	if (!error)
		error = posix_spawn(&u->pid, u->program, &actions, &how,
				    u->argv, env);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&actions);
	free(env);
	if (error)
		u->pid = 0;
	return -error;
}

/* What it is to have, as it is now. */
static int gather(struct upgrade *u)
{
	const struct config *config = u->server->config;
	int fd = ram_pool_descriptor(u->server->pool), error;

	if (fd < 0)
		return fd;
	handover_free(&u->handed);
	error = handover_pool(&u->handed, fd, config->pool_path);
	close(fd);
	if (!error)
		error = listeners_hand_over(u->server->listeners, &u->handed);
	if (!error && u->control)
		error = control_socket_hand_over(u->control, &u->handed);
	u->changes = listeners_changes(u->server->listeners);
	return error;
}

static void on_heard(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval silent = {.tv_sec = SILENT_SEC};
	struct upgrade *u = arg;
	char word[16];
	ssize_t got = recv(fd, word, sizeof(word), MSG_DONTWAIT);

	(void)what;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		give_up(u, NULL, "before it was ready");
	} else if (got == 7 && memcmp(word, "working", 7) == 0) {
		event_add(u->timer, &silent);
	} else if (got != 5 || memcmp(word, "ready", 5) != 0) {
		give_up(u, "says what makes no sense", "and was ended");
	} else if (u->changes != listeners_changes(u->server->listeners)) {
		give_up(u, "was given other addresses than there are now",
			""
			"(the configuration was read again meanwhile)");
	} else {
		/* What it says next is for upgrade_finish() to hear. */
		event_del(u->heard);
		event_del(u->timer);
		u->ready = true;
		event_base_loopbreak(u->base);
	}
}

static void on_silent(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	give_up(arg, "was silent for 10 s before it was ready",
		"and was ended");
}

static int listen_to_child(struct upgrade *u)
{
	const struct timeval silent = {.tv_sec = SILENT_SEC};

	u->heard = event_new(u->base, u->fd, EV_READ | EV_PERSIST, on_heard, u);
	u->timer = event_new(u->base, -1, 0, on_silent, u);
	if (!u->heard || !u->timer || event_add(u->heard, NULL) < 0 ||
	    event_add(u->timer, &silent) < 0)
		return -ENOMEM;
	return 0;
}

static int start(struct upgrade *u)
{
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	u->fd = ends[0];
	/* First, so that it is there when the other looks. */
	error = gather(u);
	if (!error)
		error = handover_send(&u->handed, u->fd);
	if (!error)
		error = spawn(u, ends[1]);
	close(ends[1]);
	return error ? error : listen_to_child(u);
}

void upgrade_begin(struct upgrade *u)
{
	char how[80];
	int error;

	if (u->pid) {
		log_warning("SIGUSR2: an upgrade is under way already");
		return;
	}
	log_info("SIGUSR2: starting %s, to take over", u->program);
	tell_reloading();
	error = start(u);
	if (!error)
		return;
	if (u->pid)
		end_child(u, how, sizeof(how));
	let_go(u);
	log_error("upgrade: cannot start %s: %s; this one goes on", u->program,
		  strerror(-error));
	sd_notify(0, "READY=1");
}

/* --------------------------------------------------------------- handing over */

bool upgrade_is_ready(const struct upgrade *u)
{
	return u->ready;
}

void upgrade_is_over(struct upgrade *u)
{
	char how[80];

	if (u->pid)
		end_child(u, how, sizeof(how));
	let_go(u);
}

/* The next word, within so long: 's'erving, 'w'orking; 0: it has gone; '?': any
 * other; '-': it is silent. With `stoppable` 't' when this process is to stop. */
static char hear(struct upgrade *u, uint64_t until, bool stoppable)
{
	struct pollfd look = {.fd = u->fd, .events = POLLIN};
	char word[16];
	ssize_t got;

	while (now_msec() < until) {
		sd_notify(0, "WATCHDOG=1");
		/* Before the word is looked for, so that none is overlooked. */
		if (stoppable && early_stop_asked())
			return 't';
		if (poll(&look, 1, LOOK_MSEC) <= 0)
			continue;
		got = recv(u->fd, word, sizeof(word), MSG_DONTWAIT);
		if (got == 7 && memcmp(word, "serving", 7) == 0)
			return 's';
		if (got == 7 && memcmp(word, "working", 7) == 0)
			return 'w';
		return got <= 0 ? 0 : '?';
	}
	return '-';
}

/* This process is to stop. The other may serve already, though that is not heard
 * yet: it is to stop likewise, in its own way, and both are gone then. */
static char stop_too(struct upgrade *u)
{
	const uint64_t until = now_msec() + STOP_MSEC;
	char word;

	log_info("stopping, and so is to do process %d, which was to take over",
		 (int)u->pid);
	kill(u->pid, SIGTERM);
	do {
		word = hear(u, until, false);
	} while (word == 'w');
	return word;
}

bool upgrade_finish(struct upgrade *u)
{
	const uint64_t end = now_msec() + WORKING_SEC * 1000;
	bool stopping = false;
	uint64_t until;
	char word;

	/* If it has gone, that is heard below. */
	if (send(u->fd, "yours", 5, MSG_NOSIGNAL) < 0)
		log_debug("upgrade: the new one has gone");
	do {
		until = min_u64(end, now_msec() + SILENT_SEC * 1000);
		word = hear(u, until, true);
	} while (word == 'w');
	if (word == 't') {
		stopping = true;
		word = stop_too(u);
	}
	if (word == 's') {
		/* One that has come since. */
		if (!stopping && early_stop_asked()) {
			stopping = true;
			kill(u->pid, SIGTERM);
		}
		log_info("upgrade: process %d serves now, this one ends",
			 (int)u->pid);
		sd_notifyf(0, "MAINPID=%d\n%s", (int)u->pid,
			   stopping ? "STOPPING=1" : "READY=1");
		let_go(u);
		return true;
	}
	give_up(u,
		word == 0     ? NULL
		: stopping    ? "does not stop"
		: word == '-' ? "was silent for 10 s"
			      : "says what makes no sense",
		"after it had been given the pool");
	return false;
}

const struct handover *upgrade_returned(const struct upgrade *u)
{
	return &u->handed;
}
