/* SPDX-License-Identifier: BSD-3-Clause */
/* The disks of a pool as they were when it was given to another process, so that
 * what that one has made of them before it ended is taken back: it has served
 * nobody. The main thread's, outside every epoch. */
#ifndef NBDRAM_SERVER_DISKS_BEFORE_H
#define NBDRAM_SERVER_DISKS_BEFORE_H

#include "store.h"

struct disks_before;

/* Look, when nothing changes any more. NULL: no memory, and said so. To be
 * freed. */
struct disks_before *disks_before_look(struct ram_pool *pool);

/* Delete the disks that were not there; the others get their size, what they were
 * promised and their notes again. What cannot be done is told in the log, and left
 * as it is. */
void disks_before_restore(const struct disks_before *before,
			  struct ram_pool *pool);

void disks_before_free(struct disks_before *before); /* NULL is fine */

#endif
