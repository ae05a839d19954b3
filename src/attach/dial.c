/* SPDX-License-Identifier: BSD-3-Clause */
/* See dial.h. */
#include "dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* An idle link to a host that has gone is dead after 5 + 3 * 2 seconds. */
#define ALIVE_IDLE 5
#define ALIVE_INTERVAL 2
#define ALIVE_COUNT 3

#define SILENCE_MS 10000u

static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

static void set_tcp(int fd, unsigned silence_ms)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, ALIVE_IDLE);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, ALIVE_INTERVAL);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, ALIVE_COUNT);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
	    (int)(silence_ms ? silence_ms : SILENCE_MS));
}

/* What has become of a connect() that went on. */
static int outcome(const struct attach_wait *wait, int fd)
{
	int error = attach_wait_for(wait, fd, POLLOUT);
	socklen_t len = sizeof(error);

	if (error)
		return error;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

static int dial_one(const struct attach_address *a, unsigned silence_ms,
		    const struct attach_wait *wait, int *fd)
{
	int error = 0;

	*fd = socket(a->address.ss_family,
		     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	if (a->address.ss_family != AF_UNIX)
		set_tcp(*fd, silence_ms);
	if (connect(*fd, (const struct sockaddr *)&a->address, a->len) < 0)
		error = errno == EINPROGRESS || errno == EINTR
				? outcome(wait, *fd)
				: -errno;
	if (error)
		close(*fd);
	/* A Unix socket whose queue is full: nobody takes from it. */
	return error == -EAGAIN ? -ECONNREFUSED : error;
}

static const char *hint(int error, sa_family_t family)
{
	switch (-error) {
	case ECONNREFUSED:
		if (family != AF_UNIX)
			return "; is the server running, and is that its port?";
		/* fall through */
	case ENOENT:
		return "; is the server running, with this socket?";
	case EACCES:
	case EPERM:
		return family == AF_UNIX ? "; you have no right to use it"
					 : "; a firewall of this host says no";
	case EHOSTUNREACH:
	case ENETUNREACH:
		return "; is the network up?";
	case ETIMEDOUT:
		return "; is the host up, and no firewall between?";
	}
	return "";
}

int attach_dial(const struct attach_address *list, unsigned count,
		unsigned silence_ms, const struct attach_wait *wait,
		const char *where, int *fd, struct attach_why *why)
{
	struct attach_wait share = *wait;
	int error = -EADDRNOTAVAIL;
	unsigned i;

	for (i = 0; i < count; i++) {
		int64_t now = attach_now();

		share.until = now + (wait->until - now) / (count - i);
		error = dial_one(&list[i], silence_ms, &share, fd);
		if (!error)
			return 0;
		if (error == -ECANCELED)
			return attach_fail(why, error, "%s: given up", where);
	}
	return attach_fail(why, error, "%s: cannot connect: %s%s", where,
			   strerror(-error),
			   hint(error, list[count - 1].address.ss_family));
}
