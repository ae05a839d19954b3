/* SPDX-License-Identifier: BSD-3-Clause */
/* See service.h. */
#include "service.h"

#include <errno.h>
#include <time.h>

#include "keeper.h"
#include "pool.h"

#define SERVICE_TRIES 5000 /* of a millisecond */

int service(struct ram_pool *pool, int (*change)(struct ram_pool *, void *),
	    void *arg)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	unsigned tries = 0;
	int error;

	for (;;) {
		lock_take(&pool->slots.lock);
		ram_epoch_enter(pool->service);
		error = change(pool, arg);
		/* Nothing of ours waits for another call to move it on. */
		limbo_push(pool->service);
		ram_epoch_leave(pool->service);
		if (error != -EAGAIN || ++tries == SERVICE_TRIES)
			wait_done(pool->service);
		lock_drop(&pool->slots.lock);
		if (error != -EAGAIN)
			return error;
		if (tries == SERVICE_TRIES)
			return -ENOSPC;
		keeper_stand_in(pool);
		nanosleep(&pause, NULL);
	}
}
