/* SPDX-License-Identifier: BSD-3-Clause */
/* The housekeeper: the one thread of the store. It moves the epoch on, frees
 * what nobody can see any more, drops the tables of what was deleted, punches
 * memory that is free beyond the warm reserve, and populates that reserve. */
#ifndef NBDRAM_STORE_KEEPER_H
#define NBDRAM_STORE_KEEPER_H

#include <stdatomic.h>

#include "store.h"

void keeper_init(struct ram_pool *pool);
void keeper_stop(struct ram_pool *pool);

/* Something may be to do: wake it if it sleeps for good. Any lock may be
 * held. */
void keeper_wanted(struct ram_pool *pool);

/* While no housekeeper runs: do its work in this thread; true if so. */
bool keeper_stand_in(struct ram_pool *pool);

/* Populate what is promised to disks, by this thread and some more; progress
 * (may be NULL) is told now and then. -ENOSPC, -ENOMEM: the file system has not got
 * it; -ECANCELED: progress said so. See populate.c. */
int populate(struct ram_pool *pool, ram_progress *progress, void *arg);

/* Look at once at all free blocks that may hold memory still. */
void keeper_sweep(struct ram_pool *pool);

/* Some disk has `recount` set: count its own again, in a while. */
void keeper_recount(struct ram_pool *pool);

#endif
