/* SPDX-License-Identifier: BSD-3-Clause */
/* See predecessor.h. */
#include "predecessor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "early-stop.h"
#include "log.h"
#include "worker.h"

/* It drains its clients for 2 s; whoever waits longer is forgotten. */
#define YOURS_MSEC 60000u
#define LOOK_MSEC 200

int predecessor_open(struct predecessor *p)
{
	const char *text = getenv(PREDECESSOR_VARIABLE);
	char *end;
	long fd;
	int error;

	p->fd = -1;
	handover_init(&p->had);
	if (!text)
		return 0;
	fd = strtol(text, &end, 10);
	if (end == text || *end || fd <= STDERR_FILENO || fd > 65535 ||
	    sd_is_socket(fd, AF_UNIX, SOCK_SEQPACKET, 0) <= 0) {
		log_error(PREDECESSOR_VARIABLE
			  " in the environment is no socket of an nbdramd "
			  "that is to be replaced; take it out");
		return -EINVAL;
	}
	unsetenv(PREDECESSOR_VARIABLE);
	p->fd = fd;
	fcntl(p->fd, F_SETFD, FD_CLOEXEC);
	error = handover_receive(&p->had, p->fd);
	if (error)
		log_error("upgrade: what the running nbdramd hands over "
			  "cannot be used: %s; stop it and start this one",
			  strerror(-error));
	return error;
}

void predecessor_free(struct predecessor *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	handover_free(&p->had);
}

static int say(struct predecessor *p, const char *word)
{
	return send(p->fd, word, strlen(word), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Whatever else comes, or the end, means that it has changed its mind. */
static int hear_yours(struct predecessor *p)
{
	char word[16];
	ssize_t got = recv(p->fd, word, sizeof(word), 0);

	if (got == 5 && memcmp(word, "yours", 5) == 0)
		return 0;
	log_error("upgrade: the running nbdramd has given it up");
	return -ECANCELED;
}

int predecessor_ready(struct predecessor *p)
{
	struct pollfd look = {.fd = p->fd, .events = POLLIN};
	uint64_t until = now_msec() + YOURS_MSEC;
	int error = say(p, "ready");

	while (!error && now_msec() < until) {
		if (early_stop_asked())
			return -EINTR;
		if (poll(&look, 1, LOOK_MSEC) > 0)
			return hear_yours(p);
	}
	log_error("upgrade: the running nbdramd %s",
		  error ? "has gone" : "does not give its place away");
	return error ? error : -ETIMEDOUT;
}

void predecessor_working(struct predecessor *p)
{
	if (p && p->fd >= 0)
		say(p, "working");
}

void predecessor_serving(struct predecessor *p)
{
	/* If it has gone meanwhile, all the better. */
	if (p && p->fd >= 0)
		say(p, "serving");
}
