/* SPDX-License-Identifier: BSD-3-Clause */
/* How the kernel cuts what is asked of a device. What is set stays after the device
 * is given up: so all of it is set each time. */
#ifndef NBDRAM_ATTACH_QUEUE_H
#define NBDRAM_ATTACH_QUEUE_H

#include <stdint.h>

#include "why.h"

struct attach_queue {
	unsigned request_kb;	/* the longest request */
	unsigned read_ahead_kb; /* of reading in order through the page cache */
	/* After which a request that is not answered is looked at; 0: leave the
	 * kernel's. */
	unsigned tick_ms;
};

/* What fits a server that takes payloads of that many bytes, and a device with
 * this timeout (see netlink.h). */
struct attach_queue attach_queue_for(uint32_t payload, unsigned timeout);

/* -ENOENT, -EINVAL, ...: why says which. What could be set is. */
int attach_queue_set(int index, const struct attach_queue *queue,
		     struct attach_why *why);

/* tick_ms alone: netlink.h's timeout changes it. */
int attach_queue_set_tick(int index, const struct attach_queue *queue,
			  struct attach_why *why);

#endif
