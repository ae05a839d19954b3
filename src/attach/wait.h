/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a descriptor that has an end: a time, or a word from elsewhere. */
#ifndef NBDRAM_ATTACH_WAIT_H
#define NBDRAM_ATTACH_WAIT_H

#include <stdint.h>

struct attach_wait {
	int64_t until; /* attach_now() */
	int cancel_fd; /* readable: give up; -1: none */
};

/* Milliseconds of a clock that only goes forward. */
int64_t attach_now(void);

/* Is it over? 0: not yet; -ETIMEDOUT, -ECANCELED, or as poll() has failed. */
int attach_wait_check(const struct attach_wait *wait);

/* Until fd is ready for events (POLLIN, POLLOUT), or has failed. 0, -ETIMEDOUT,
 * -ECANCELED, or as poll() has failed. */
int attach_wait_for(const struct attach_wait *wait, int fd, short events);

#endif
