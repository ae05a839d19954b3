/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that change the list of disks, made without a registration. */
#ifndef NBDRAM_STORE_SERVICE_H
#define NBDRAM_STORE_SERVICE_H

struct ram_pool;

/* Run change(pool, arg) under slots.lock with pool->service inside an epoch,
 * again while it answers -EAGAIN, but for no longer than 5 s: then -ENOSPC.
 * change() leaves everything as it was unless it returns 0. Outside every
 * epoch, no lock held but freeze_lock. */
int service(struct ram_pool *pool, int (*change)(struct ram_pool *, void *),
	    void *arg);

#endif
