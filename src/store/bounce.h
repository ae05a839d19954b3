/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads for blocks that hold no memory yet. They come to a buffer of the thread,
 * which stays in the processor's cache, and from there through the file: the kernel
 * then has no page to clear and none to map at once, so both together cost less than
 * the first touch of a mapping alone. A thread has one such buffer, for one view at
 * a time; who finds it taken has memory made first. */
#ifndef NBDRAM_STORE_BOUNCE_H
#define NBDRAM_STORE_BOUNCE_H

#include <stdbool.h>

#include "pool.h"
#include "store.h"

/* Whether the view may have the thread's buffer for what it is to receive next. */
bool bounce_possible(const struct ram_view *view, const struct ram_thread *t);

/* The buffer for a view that has nothing else and begins in run's first block; it is
 * as long as any run. The view's until bounce_write() or bounce_drop(). NULL: no
 * memory. Only where it is possible. */
uint8_t *bounce_take(struct ram_view *view, struct ram_thread *t,
		     const struct run *run);

/* The whole payload has come: it goes to its blocks, and the view's piece with it.
 * Nothing is done for a view without a buffer. -ENOSPC, -ENOMEM: the file system has
 * none; all stays as it was. Inside an epoch or not: it is left meanwhile. */
int bounce_write(struct ram_view *view);

/* Give the buffer back, unwritten. The blocks hold no memory still. */
void bounce_drop(struct ram_view *view);

#endif
