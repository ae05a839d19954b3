/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of tables below a root: finding and changing entries.
 *
 *            root (level 3)            level L: an entry speaks for
 *              |                       512^(L-1) blocks
 *      table of level 3
 *        |           |
 *    table of 2   table of 2
 *     |      |
 *   leaf   leaf  (level 1) --> data blocks
 *
 * Readers follow entries as they find them. Writers change an entry in place
 * only in a table whose owner number is that of their disk; on the way down
 * they copy what is not theirs, top down, and publish each copy by
 * compare-exchange in its parent. An owned leaf has owned ancestors, so one look
 * at the leaf is enough.
 *
 * Every store that makes something reachable or unreachable goes through
 * publish() or publish_exchange(). */
#ifndef NBDRAM_STORE_TREE_H
#define NBDRAM_STORE_TREE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "disk.h"
#include "fault.h"
#include "pool.h"

typedef _Atomic uint64_t entry_t;

/* Whether an entry is the number of a table or block, and not a mark. */
static inline bool refers(uint64_t entry)
{
	return entry > ENTRY_UNFETCHED;
}

static inline entry_t *table_at(const struct ram_pool *pool, uint64_t block)
{
	return (entry_t *)pool_block(pool, block);
}

/* Replace *expected by value; what value refers to is complete. */
static inline bool publish_exchange(entry_t *entry, uint64_t *expected,
				    uint64_t value)
{
	bool done;

	fault(RAM_FAULT_BEFORE_PUBLISH);
	done = atomic_compare_exchange_strong(entry, expected, value);
	fault(RAM_FAULT_AFTER_PUBLISH);
	return done;
}

/* The same when nobody else can change the entry; returns what was there. */
static inline uint64_t publish(entry_t *entry, uint64_t value)
{
	uint64_t old;

	fault(RAM_FAULT_BEFORE_PUBLISH);
	old = atomic_exchange(entry, value);
	fault(RAM_FAULT_AFTER_PUBLISH);
	return old;
}

/* Position of block `index` in a table of `level`. */
static inline unsigned tree_slot(uint64_t index, unsigned level)
{
	return index >> (TABLE_SHIFT * (level - 1)) & (TABLE_ENTRIES - 1);
}

/* Blocks that a table of `level` speaks for; level 0: one. */
static inline uint64_t tree_reach(unsigned level)
{
	return UINT64_C(1) << (TABLE_SHIFT * level);
}

/* What lies at block `index` of the tree: the entries of one leaf from there on,
 * or (leaf NULL) `count` blocks that all are `fill`. */
struct tree_span {
	entry_t *leaf;
	uint64_t fill;
	uint64_t count;
	uint32_t leaf_block;
	bool shared; /* some table on the way is used more than once; only
			told by tree_span_shared() */
};

void tree_span(const struct ram_pool *pool, uint64_t root, uint64_t index,
	       struct tree_span *span);
void tree_span_shared(const struct ram_pool *pool, uint64_t root,
		      uint64_t index, struct tree_span *span);

/* The entry that speaks for `index` in the disk's own table of `level`, all of
 * the way down to it made or copied as needed. Inside an epoch. -EAGAIN,
 * -EINPROGRESS, -ENOSPC. */
int tree_entry_for_write(struct ram_disk *disk, struct ram_thread *t,
			 uint64_t index, unsigned level, entry_t **entry);

/* The same for level 1, with the short way for a leaf that is owned already. */
int tree_leaf_for_write(struct ram_disk *disk, struct ram_thread *t,
			uint64_t index, entry_t **entry);

/* Drop one table that nobody can see any more: what it points at loses one use.
 * Returns for how many that was the last one. The housekeeper's. */
unsigned tree_drop_table(struct ram_thread *t, uint32_t block);

#endif
