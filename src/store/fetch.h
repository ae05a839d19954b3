/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for what is not yet fetched. */
#ifndef NBDRAM_STORE_FETCH_H
#define NBDRAM_STORE_FETCH_H

#include "disk.h"
#include "tree.h"

/* A call has met block `index` of a lazy disk, and that is not yet fetched: ask for
 * it. Returns what the call is to answer: -EINPROGRESS, and its thread is woken when
 * trying again makes sense; or why there is no use in waiting (-EIO, -ENOSPC). Inside
 * an epoch. */
int fetch_wait(struct ram_disk *disk, struct ram_thread *t, uint64_t index);

/* [off, off+len) is to be written: are the blocks there of which only a part is? 0, or
 * as fetch_wait(). Inside an epoch. */
int fetch_edges(struct ram_disk *disk, struct ram_thread *t, uint64_t len,
		uint64_t off);

/* A table that is shared is about to be copied for a disk of which it is the leaf
 * that begins at block `index`. 0; or -EINPROGRESS: it is not complete, and each copy
 * would have to be fetched for itself. Inside an epoch. */
int fetch_before_copy(struct ram_disk *disk, struct ram_thread *t,
		      uint64_t leaf, uint64_t index);

/* There is one more disk that is to be fetched, or a disk has become one. */
void fetch_news(struct ram_pool *pool);

#endif
