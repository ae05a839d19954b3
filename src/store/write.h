/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishing data blocks: what writing, staging and zeroing share. */
#ifndef NBDRAM_STORE_WRITE_H
#define NBDRAM_STORE_WRITE_H

#include "disk.h"
#include "tree.h"

/* One call's account with the pool. */
struct writer {
	struct ram_disk *disk;
	struct ram_thread *thread;
	uint64_t taken;	 /* blocks charged in all */
	uint64_t charge; /* of them, not yet used */
	uint64_t landed; /* blocks from landing that used a charge */
	bool holes;	 /* whole blocks of zeroes become holes */
};

/* How many of n entries need a charge when they are overwritten: holes, and
 * what others use too. The leaf is owned. */
uint64_t writer_need(struct writer *w, entry_t *entry, uint64_t n);

/* Charge so many in advance. -EAGAIN, -ENOSPC. */
int writer_charge(struct writer *w, uint64_t n);

/* Make `block` the one at `entry` of an owned leaf. Its bytes [from, to) are
 * new; the rest is copied here from what is there now, again when another
 * writer came between. -EAGAIN, -ENOSPC, -ENODATA (what is there now is not yet
 * fetched): nothing has changed. */
int writer_publish(struct writer *w, entry_t *entry, uint32_t block,
		   unsigned from, unsigned to);

/* Settle what was charged and not used. */
void writer_done(struct writer *w);

/* Write [off, off+len), which lies within one leaf, from buf (NULL: zeroes).
 * Inside an epoch. How many bytes were done, or an error if none. */
int64_t write_leaf(struct ram_disk *disk, struct ram_thread *t, const void *buf,
		   uint64_t len, uint64_t off);

#endif
