/* SPDX-License-Identifier: BSD-3-Clause */
/* See control-socket.h. */
#include "control-socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caller.h"
#include "check.h"
#include "cleanup.h"
#include "handover.h"
#include "log.h"
#include "unix-socket.h"
#include "reason.h"

/* Accepted before the loop looks at anything else. */
#define ACCEPT_MOST 16

struct control_socket {
	struct unix_socket socket;
	struct callers callers;
	struct event *accept, *wake, *tick;
	bool kept;   /* its file is not ours to remove */
	bool paused; /* there are as many callers as there may be */
};

/* The folder that the socket lies in, if only that is missing. */
static void make_folder(const char *path)
{
	CLEANUP_FREE char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!slash || slash == folder)
		return;
	*slash = 0;
	/* What is wrong with it shows when the socket is made. */
	if (mkdir(folder, 0755) == 0)
		log_info("control: made the folder %s", folder);
}

/* Callers are looked at while there are any. */
static void need_tick(struct control_socket *s)
{
	const struct timeval interval = {
		.tv_usec = CALLERS_TICK_MSEC * 1000,
	};

	if (!event_pending(s->tick, EV_TIMEOUT, NULL))
		event_add(s->tick, &interval);
}

/* Whose process is at the other end. */
static bool may_command(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	return peer.uid == 0 || peer.uid == geteuid();
}

static void pause_accepting(struct control_socket *s)
{
	s->paused = true;
	event_del(s->accept);
	need_tick(s);
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct control_socket *s = arg;
	int got, n;

	(void)what;
	for (n = 0; n < ACCEPT_MOST; n++) {
		if (s->callers.count >= CALLERS_MOST &&
		    !callers_make_room(&s->callers)) {
			pause_accepting(s);
			return;
		}
		got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (got < 0 && (errno == EMFILE || errno == ENFILE ||
				errno == ENOBUFS || errno == ENOMEM)) {
			pause_accepting(s);
			return;
		}
		if (got < 0 && errno != EINTR && errno != ECONNABORTED)
			return;
		if (got < 0)
			continue;
		need_tick(s);
		if (may_command(got))
			caller_new(&s->callers, got);
		else
			caller_refuse(got, "denied",
				      "only root and the user that runs "
				      "nbdramd may command it");
	}
}

/* Somebody has gone, perhaps. */
static void go_on(struct control_socket *s)
{
	if (!s->paused)
		return;
	s->paused = false;
	event_add(s->accept, NULL);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct control_socket *s = arg;
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0) {
		/* Looking does no harm. */
	}
	callers_deliver(&s->callers);
	go_on(s);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct control_socket *s = arg;

	(void)fd;
	(void)what;
	callers_tick(&s->callers);
	go_on(s);
	if (s->callers.count > 0)
		need_tick(s);
}

static bool make_events(struct control_socket *s, struct event_base *base)
{
	s->callers.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->callers.wake_fd < 0)
		return false;
	s->accept = event_new(base, s->socket.fd, EV_READ | EV_PERSIST,
			      on_accept, s);
	s->wake = event_new(base, s->callers.wake_fd, EV_READ | EV_PERSIST,
			    on_wake, s);
	s->tick = event_new(base, -1, 0, on_tick, s);
	return s->accept && s->wake && s->tick;
}

/* The one that another had, if it is the same; else one of our own. */
static int take_or_listen(struct control_socket *s, const char *path,
			  const struct unix_socket *had, struct ram_why *why)
{
	int error;

	if (!had || had->fd < 0 || strcmp(had->path, path) != 0) {
		make_folder(path);
		return unix_socket_listen(&s->socket, path, 0600, why);
	}
	error = handover_copy(&s->socket, had);
	s->kept = !error;
	return error ? reason(why, error, "unix:%s: cannot be taken over: %s",
			      path, strerror(-error))
		     : 0;
}

struct control_socket *control_socket_open(struct server *server,
					   struct event_base *base,
					   const struct unix_socket *had,
					   struct ram_why *why)
{
	const char *path = server->config->control;
	struct control_socket *s = calloc(1, sizeof(*s));

	if (!s) {
		reason(why, 0, "no memory for a control socket");
		return NULL;
	}
	s->socket.fd = s->callers.wake_fd = -1;
	s->callers.server = server;
	s->callers.base = base;
	TAILQ_INIT(&s->callers.list);
	s->callers.posts_end = &s->callers.posts;
	pthread_mutex_init(&s->callers.lock, NULL);
	if (take_or_listen(s, path, had, why)) {
		s->socket.fd = -1;
		control_socket_close(s);
		return NULL;
	}
	s->callers.jobs = jobs_start(server->pool);
	if (!s->callers.jobs || !make_events(s, base)) {
		reason(why, 0, "no threads or memory for a control socket");
		control_socket_close(s);
		return NULL;
	}
	return s;
}

void control_socket_start(struct control_socket *s)
{
	s->kept = false;
	event_add(s->accept, NULL);
	event_add(s->wake, NULL);
	log_debug("control: listening to %s", s->socket.path);
}

int control_socket_hand_over(const struct control_socket *s, struct handover *h)
{
	return handover_control(h, &s->socket);
}

void control_socket_keep_file(struct control_socket *s)
{
	if (s)
		s->kept = true;
}

void control_socket_close(struct control_socket *s)
{
	if (!s)
		return;
	if (s->accept)
		event_free(s->accept);
	callers_close(&s->callers);
	/* What was running ends, and comes back here. */
	jobs_stop(s->callers.jobs);
	callers_deliver(&s->callers);
	if (s->wake)
		event_free(s->wake);
	if (s->tick)
		event_free(s->tick);
	if (s->callers.wake_fd >= 0)
		close(s->callers.wake_fd);
	if (s->kept)
		s->socket.inode = 0;
	unix_socket_close(&s->socket);
	pthread_mutex_destroy(&s->callers.lock);
	free(s);
}
