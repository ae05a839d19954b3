/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting to the first address that answers. */
#ifndef NBDRAM_ATTACH_DIAL_H
#define NBDRAM_ATTACH_DIAL_H

#include <sys/socket.h>

#include "wait.h"
#include "why.h"

struct attach_address {
	struct sockaddr_storage address;
	socklen_t len;
};

/* Each address in turn; one that is silent has its share of the time, no more.
 * where stands in front of messages. 0: *fd is a connected, non-blocking socket
 * with signs of life, see dial.c; else as connecting to the last one has failed, or
 * attach_wait_for(). */
int attach_dial(const struct attach_address *list, unsigned count,
		unsigned silence_ms, const struct attach_wait *wait,
		const char *where, int *fd, struct attach_why *why);

#endif
