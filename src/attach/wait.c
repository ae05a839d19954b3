/* SPDX-License-Identifier: BSD-3-Clause */
/* See wait.h. */
#include "wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>

int64_t attach_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int attach_wait_check(const struct attach_wait *wait)
{
	struct pollfd cancel = {.fd = wait->cancel_fd, .events = POLLIN};
	const int n = poll(&cancel, 1, 0);

	if (n > 0)
		return -ECANCELED;
	if (n < 0 && errno != EINTR)
		return -errno;
	return attach_now() >= wait->until ? -ETIMEDOUT : 0;
}

int attach_wait_for(const struct attach_wait *wait, int fd, short events)
{
	struct pollfd fds[2] = {
		{.fd = fd, .events = events},
		{.fd = wait->cancel_fd, .events = POLLIN},
	};
	int64_t left;
	int n;

	do {
		left = wait->until - attach_now();
		if (left < 0)
			left = 0;
		if (left > INT_MAX)
			left = INT_MAX;
		n = poll(fds, 2, (int)left);
		if (n > 0 && fds[1].revents)
			return -ECANCELED;
		if (n > 0)
			return 0;
	} while ((n < 0 && errno == EINTR) || (n == 0 && left == INT_MAX));
	return n < 0 ? -errno : -ETIMEDOUT;
}
