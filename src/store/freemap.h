/* SPDX-License-Identifier: BSD-3-Clause */
/* Which blocks are free, and which of those hold memory already ("warm").
 * All under blocks.lock. */
#ifndef NBDRAM_STORE_FREEMAP_H
#define NBDRAM_STORE_FREEMAP_H

#include "block.h"

/* For blocks 0 to total - 1, none of them free. 0 or -ENOMEM. */
int freemap_init(struct blocks *b, uint64_t total);
void freemap_destroy(struct blocks *b);

/* All blocks from BLOCK_FIRST on become free, without memory. */
void freemap_fill(struct blocks *b);

/* A run becomes free. It may lie across groups; run.cold: it holds no memory
 * that is known of. */
void freemap_add(struct blocks *b, struct run run);

/* At most `most` neighbours, warm ones first; a long run is preferred within a
 * bounded search. count 0: nothing is free (grouped: and holds memory). The
 * bound of the pool is the
 * caller's business, see freemap_room(). */
struct run freemap_take(struct blocks *b, uint32_t most);
/* About `most` blocks, wherever they are, in at most `room` runs: one look at
 * one group or a few. How many runs it has become. */
unsigned freemap_take_some(struct blocks *b, uint32_t most, struct run *run,
			   unsigned room);

/* One kind only, for the housekeeper. */
struct run freemap_take_kind(struct blocks *b, uint32_t most, bool warm);

/* A group that is free as a whole and holds memory; count 0: there is none. */
struct run freemap_take_whole(struct blocks *b);

/* The next group from *number on that has blocks which were written through the
 * file and may not be mapped yet; it is taken off the list. False: there is
 * none. */
bool freemap_unmapped(struct blocks *b, uint64_t *number);
void freemap_all_unmapped(struct blocks *b);

/* How many more may be taken. */
uint64_t freemap_room(const struct blocks *b);

/* Whether all 512 blocks of the group of `block` are free and hold no memory. */
bool freemap_group_empty(const struct blocks *b, uint64_t block);

/* Take all cold free blocks of a group; a bit for each in `taken`. */
unsigned freemap_take_cold(struct blocks *b, uint64_t number,
			   uint64_t taken[RUN_BLOCKS / 64]);

#endif
