/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory behind a pool: a sealed memfd, or the file `pool` in a folder, and
 * the one mapping of it. Units: blocks. Knows nothing of what lies inside. */
#ifndef NBDRAM_STORE_BACKING_H
#define NBDRAM_STORE_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"
#include "store.h"

#define BACKING_FILE "pool" /* its name in the folder */

struct backing {
	int fd;
	uint8_t *base;	  /* of the mapping; NULL: not mapped */
	uint64_t blocks;  /* length of the mapping */
	const char *path; /* the caller's; NULL: anonymous */
	bool fresh;	  /* made by this open, nothing in it */
	bool made_folder; /* by this open too */
	int dir;	  /* the folder while a new file is not yet in place */
	/* Memory comes and goes in groups of RUN_BLOCKS: one huge page each, or
	 * what may become one. */
	bool huge, thp;
	bool lock; /* what is mapped stays in memory */
};

static inline bool backing_grouped(const struct backing *b)
{
	return b->huge || b->thp;
}

/* Open and lock what is at config->path (NULL: a new memfd), or make the file
 * under another name: it gets its own by backing_commit(). Maps nothing.
 * -EBUSY, -EACCES, -EINVAL and what the system calls gave; why is filled. */
int backing_open(struct backing *b, const struct ram_pool_config *config,
		 struct ram_why *why);

/* For messages: its folder. */
const char *backing_name(const struct backing *b);

/* Map so many blocks, also where the file is shorter: what lies behind its end
 * must not be touched before backing_extend(), which makes it as long (it never
 * shrinks). Of a grouped one only whole groups. */
int backing_map(struct backing *b, uint64_t blocks, struct ram_why *why);
int backing_extend(struct backing *b, struct ram_why *why);

/* Put a new file in its place, now that it is a pool. */
int backing_commit(struct backing *b, struct ram_why *why);

/* Unmap and close. A new file that was not committed is removed. */
void backing_close(struct backing *b);

/* How many bytes it occupies now, and how long it is. */
uint64_t backing_occupied(const struct backing *b);
uint64_t backing_length(const struct backing *b);

/* Bytes its file system can still take for it (what it occupies included);
 * UINT64_MAX for a memfd. */
uint64_t backing_room(const struct backing *b);

static inline void *backing_at(const struct backing *b, uint64_t block)
{
	return b->base + (block << BLOCK_SHIFT);
}

/* Take memory for n blocks, so that touching them cannot fail; of a grouped
 * backing for their whole group. What they hold already stays. 0 or -ENOSPC,
 * -ENOMEM. At most RUN_BLOCKS, in one group if grouped. */
int backing_reserve(const struct backing *b, uint64_t block, uint64_t n);

/* Take memory for n blocks and map it; threads side by side do not wait for each
 * other, nor for writes through the file. As backing_reserve(). */
int backing_take(const struct backing *b, uint64_t block, uint64_t n);

/* Memory for n blocks of which nobody needs what they hold, mapped: dearer than
 * reserving alone, but a quarter cheaper than to reserve and map. Takes the file
 * for itself for about a millisecond: callers see to it that they are not many at
 * once, who would spin in the kernel. Not for a grouped backing. As
 * backing_reserve(); after an error some blocks may hold memory. */
int backing_fill(const struct backing *b, uint64_t block, uint64_t n);

/* Map what was reserved, so that touching it costs no fault. Best effort. */
void backing_populate(const struct backing *b, uint64_t block, uint64_t n);

/* Whether something was ever written to the block; it may have been swapped out
 * since. Moves the file's position, which nobody uses. */
bool backing_has_data(const struct backing *b, uint64_t block);

/* Which of n blocks (at most RUN_BLOCKS) hold memory: a byte for each, its lowest
 * bit. False: the kernel does not say. */
bool backing_held(const struct backing *b, uint64_t block, uint64_t n,
		  unsigned char *held);

/* The same for those of n blocks that hold memory: no other may be touched, for
 * that would take some. At most RUN_BLOCKS. */
void backing_populate_held(const struct backing *b, uint64_t block, uint64_t n);

/* Give memory back; reads as zeroes afterwards. Of a grouped backing whole
 * groups. 0 or a negative errno. */
int backing_punch(const struct backing *b, uint64_t block, uint64_t n);

/* Write n whole blocks through the file: half the price of a first touch
 * through the mapping, and a full file system is an error and no signal. */
int backing_write(const struct backing *b, const void *buf, uint64_t block,
		  uint64_t n);

#endif
