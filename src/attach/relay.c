/* SPDX-License-Identifier: BSD-3-Clause */
/* See relay.h. */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

/* All of it is locked in memory, and each link has one. */
#define STACK_BYTES (256u << 10)
/* Several records at a time. */
#define BUFFER (64u << 10)

/* One direction: what has been read and not been written. */
struct flow {
	size_t at, len;
	bool ended; /* nothing more will come */
	uint8_t data[BUFFER];
};

struct attach_relay {
	pthread_t thread;
	struct attach_secure *secure;
	int near;	  /* our end of the pair */
	int stop;	  /* eventfd: end now */
	short far_wants;  /* of the server's socket, for what did not go on */
	bool drained;	  /* nothing more came from it in this round */
	struct flow up;	  /* to the server */
	struct flow down; /* to the kernel */
};

/* ------------------------------------------------------------------ moving */

static bool is_empty(const struct flow *f)
{
	return f->at == f->len;
}

static bool is_lasting(ssize_t n)
{
	return n < 0 && n != -EAGAIN && n != -EINTR;
}

/* n: what reading has said. */
static void was_read(struct flow *f, ssize_t n)
{
	f->at = 0;
	f->len = n > 0 ? (size_t)n : 0;
	f->ended = n == 0 || is_lasting(n);
}

static ssize_t result(ssize_t n)
{
	return n < 0 ? -errno : n;
}

/* From the kernel to the server. False: it is over. */
static bool move_up(struct attach_relay *r)
{
	struct flow *f = &r->up;
	ssize_t n;

	if (is_empty(f) && !f->ended)
		was_read(f, result(recv(r->near, f->data, BUFFER, 0)));
	while (!is_empty(f)) {
		n = attach_secure_write(r->secure, f->data + f->at,
					f->len - f->at);
		if (is_lasting(n))
			return false;
		if (n == -EAGAIN)
			r->far_wants |= attach_secure_wants(r->secure);
		if (n < 0)
			return true;
		f->at += (size_t)n;
	}
	return !f->ended;
}

/* From the server to the kernel. */
static bool move_down(struct attach_relay *r)
{
	struct flow *f = &r->down;
	ssize_t n;

	if (is_empty(f) && !f->ended) {
		n = attach_secure_read(r->secure, f->data, BUFFER);
		if (n == -EAGAIN)
			r->far_wants |= attach_secure_wants(r->secure);
		was_read(f, n);
		r->drained = n == -EAGAIN;
	}
	while (!is_empty(f)) {
		n = result(send(r->near, f->data + f->at, f->len - f->at,
				MSG_NOSIGNAL));
		/* The kernel listens no longer; it may have asked for things
		 * that are on their way up. */
		if (is_lasting(n))
			n = (ssize_t)(f->len - f->at);
		if (n < 0)
			return true;
		f->at += (size_t)n;
	}
	return !f->ended;
}

/* Until there is something to be done. False: told to stop. A descriptor that is
 * waited for in no way is left out, since its end would be told again and again. */
static bool wait_for_work(struct attach_relay *r)
{
	short near = (short)((is_empty(&r->up) ? POLLIN : 0) |
			     (is_empty(&r->down) ? 0 : POLLOUT));
	struct pollfd fds[3] = {
		{.fd = r->stop, .events = POLLIN},
		{.fd = near ? r->near : -1, .events = near},
		{.fd = r->far_wants ? r->secure->fd : -1,
		 .events = r->far_wants},
	};

	/* There may be more to be read, and in OpenSSL, of which the socket does
	 * not tell. */
	if (poll(fds, 3, is_empty(&r->down) && !r->drained ? 0 : -1) < 0)
		return errno == EINTR;
	return !fds[0].revents;
}

static void *run(void *arg)
{
	struct attach_relay *r = arg;
	bool up = true, down = true;
	int far;

	/* Memory for us must not wait for pages to be written through us. */
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	while (up && down && wait_for_work(r)) {
		r->far_wants = 0;
		r->drained = false;
		up = move_up(r);
		down = move_down(r);
	}
	far = r->secure->fd;
	attach_secure_free(r->secure, true);
	shutdown(r->near, SHUT_RDWR);
	close(far);
	return NULL;
}

/* ------------------------------------------------------------------ public */

/* Signals are for other threads. */
static int start_thread(struct attach_relay *r)
{
	sigset_t all, before;
	pthread_attr_t how;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK_BYTES);
	error = pthread_create(&r->thread, &how, run, r);
	pthread_attr_destroy(&how);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void free_relay(struct attach_relay *r)
{
	if (r->near >= 0)
		close(r->near);
	if (r->stop >= 0)
		close(r->stop);
	free(r);
}

int attach_relay_start(struct attach_secure *s, struct attach_relay **relay,
		       int *fd)
{
	struct attach_relay *r = calloc(1, sizeof(*r));
	int pair[2] = {-1, -1}, error = 0;

	if (!r)
		return -ENOMEM;
	r->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->near = -1;
	if (r->stop < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		error = -errno;
	r->near = pair[0];
	if (!error && fcntl(r->near, F_SETFL, O_NONBLOCK) < 0)
		error = -errno;
	r->secure = s;
	if (!error)
		error = start_thread(r);
	if (error) {
		if (pair[1] >= 0)
			close(pair[1]);
		free_relay(r);
		return error;
	}
	*relay = r;
	*fd = pair[1];
	return 0;
}

void attach_relay_stop(struct attach_relay *r)
{
	const uint64_t one = 1;

	if (!r)
		return;
	while (write(r->stop, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(r->thread, NULL);
	free_relay(r);
}
