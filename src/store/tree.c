/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding and changing entries. See tree.h. */
#include "tree.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "fetch.h"

static inline uint64_t load(entry_t *entry)
{
	return atomic_load_explicit(entry, memory_order_acquire);
}

void tree_span(const struct ram_pool *pool, uint64_t root, uint64_t index,
	       struct tree_span *span)
{
	uint64_t entry = root_entry(root), within;
	unsigned level = root_level(root);
	entry_t *table;

	span->leaf = NULL;
	/* A reader may come with the size of a moment ago, when the tree was
	 * higher. */
	if (index >= tree_reach(level)) {
		span->fill = ENTRY_HOLE;
		span->count = UINT64_MAX - index;
		return;
	}
	while (refers(entry)) {
		table = table_at(pool, entry);
		if (level == 1) {
			within = index & (TABLE_ENTRIES - 1);
			span->leaf = table + within;
			span->leaf_block = entry;
			span->count = TABLE_ENTRIES - within;
			return;
		}
		entry = load(&table[tree_slot(index, level)]);
		level--;
	}
	span->fill = entry;
	span->count = tree_reach(level) - (index & (tree_reach(level) - 1));
}

void tree_span_shared(const struct ram_pool *pool, uint64_t root,
		      uint64_t index, struct tree_span *span)
{
	struct ram_pool *p = (struct ram_pool *)pool;
	uint64_t entry = root_entry(root);
	unsigned level = root_level(root);

	tree_span(pool, root, index, span);
	span->shared = false;
	if (!span->leaf)
		return;
	for (; level > 0 && !span->shared && refers(entry); level--) {
		span->shared = block_uses(p, entry) > 1;
		entry = load(&table_at(pool, entry)[tree_slot(index, level)]);
	}
}

/* How a table of ours comes to stand where `old` is. */
enum make {
	MAKE_NEW,  /* old is a mark, which fills the table */
	MAKE_COPY, /* old is used elsewhere too: what it points at is shared */
	MAKE_MOVE, /* old is ours alone, but not ours to change in place (its
		      owner number is of another time): what it points at moves,
		      and its charge too */
};

static enum make how_to_make(struct ram_pool *pool, uint64_t old)
{
	if (!refers(old))
		return MAKE_NEW;
	return block_uses(pool, old) == 1 ? MAKE_MOVE : MAKE_COPY;
}

/* The table, not reachable yet. */
static int table_make(struct ram_disk *disk, struct ram_thread *t, uint64_t old,
		      enum make how, unsigned level, uint32_t *block)
{
	struct ram_pool *pool = disk->pool;
	uint64_t *to;
	entry_t *from;
	unsigned i;
	int error;

	error = block_take_backed(t, block);
	if (error)
		return error;
	to = pool_block(pool, *block);
	from = how == MAKE_NEW ? NULL : table_at(pool, old);
	for (i = 0; i < TABLE_ENTRIES; i++) {
		to[i] = from ? load(&from[i]) : old;
		if (how == MAKE_COPY && refers(to[i]))
			block_ref(pool, to[i]);
	}
	block_born(pool, *block, level, atomic_load(&disk->owner));
	return 0;
}

/* Undo table_make(): nobody has seen the table. */
static void table_unmake(struct ram_thread *t, uint32_t block, enum make how)
{
	struct ram_pool *pool = t->pool;
	uint64_t *entry = pool_block(pool, block);
	struct run run = {.first = block, .count = 1};
	unsigned i;

	for (i = 0; how == MAKE_COPY && i < TABLE_ENTRIES; i++) {
		if (refers(entry[i]))
			block_unref(t, entry[i], false);
	}
	atomic_store(&pool->meta[block].count, 0);
	atomic_fetch_sub(&pool->blocks.table_count, 1);
	block_untake(t, run);
}

static bool owned(struct ram_pool *pool, uint64_t entry, uint32_t owner)
{
	return refers(entry) &&
	       atomic_load_explicit(&pool->meta[entry].owner,
				    memory_order_relaxed) == owner;
}

/* The root's turn: the slot changes with it. -EEXIST: somebody was faster. */
static int root_exchange(struct ram_disk *disk, struct ram_thread *t,
			 uint64_t old, uint64_t value)
{
	int error = -EEXIST;

	lock_take(&disk->pool->slots.lock);
	if (atomic_load(&disk->root) == old)
		error = disk_set_root(disk, t, value);
	lock_drop(&disk->pool->slots.lock);
	return error;
}

/* Whether `old` is still what stands there. */
static bool still_there(struct ram_disk *disk, entry_t *parent, uint64_t old,
			unsigned level)
{
	return parent ? load(parent) == old
		      : atomic_load(&disk->root) == root_make(old, level);
}

/* Put a table of our own, in which `index` is, where `old` is: in *parent, or in the
 * root (parent NULL). 0 also when another thread was faster: the caller looks again. */
static int table_replace(struct ram_disk *disk, struct ram_thread *t,
			 entry_t *parent, uint64_t old, unsigned level,
			 uint64_t index)
{
	struct ram_pool *pool = disk->pool;
	enum make how = how_to_make(pool, old);
	uint64_t expected = old;
	uint32_t block;
	int error = 0;

	if (how == MAKE_COPY && level == 1)
		error = fetch_before_copy(disk, t, old, index);
	if (error)
		return error;
	if (how != MAKE_MOVE) {
		error = pool_charge(pool, disk, t, 1);
		if (error)
			return error;
	}
	error = table_make(disk, t, old, how, level, &block);
	if (error)
		goto uncharge;
	if (!parent)
		error = root_exchange(disk, t, root_make(old, level),
				      root_make(block, level));
	else if (!publish_exchange(parent, &expected, block))
		error = -EEXIST;
	if (error)
		goto unmake;

	if (how == MAKE_MOVE) {
		block_retire(t, old);
	} else {
		block_landed(pool, 1);
		charge_settle(pool, disk, 1, 0);
	}
	if (how == MAKE_COPY)
		block_unref(t, old, false);
	return 0;
unmake:
	table_unmake(t, block, how);
uncharge:
	if (how != MAKE_MOVE)
		charge_settle(pool, disk, 1, 1);
	return error == -EEXIST ? 0 : error;
}

/* One at a time for each old table, whichever disks they come for: moving hands
 * over what it points at, and who copied it at the same time would count uses
 * of blocks that are gone. Only the first write below a table that is not ours
 * comes by here. */
static int table_own(struct ram_disk *disk, struct ram_thread *t,
		     entry_t *parent, uint64_t old, unsigned level,
		     uint64_t index)
{
	struct lock *lock = &disk->pool->table_locks[old % TABLE_LOCKS];
	int error = 0;

	if (!refers(old))
		return table_replace(disk, t, parent, old, level, index);
	lock_take(lock);
	if (still_there(disk, parent, old, level))
		error = table_replace(disk, t, parent, old, level, index);
	lock_drop(lock);
	return error;
}

int tree_entry_for_write(struct ram_disk *disk, struct ram_thread *t,
			 uint64_t index, unsigned level, entry_t **entry)
{
	struct ram_pool *pool = disk->pool;
	uint32_t owner = atomic_load(&disk->owner);
	uint64_t root, value;
	entry_t *parent;
	unsigned at;
	int error;

again:
	root = atomic_load_explicit(&disk->root, memory_order_acquire);
	value = root_entry(root);
	at = root_level(root);
	parent = NULL;
	for (;;) {
		if (!owned(pool, value, owner)) {
			error = table_own(disk, t, parent, value, at, index);
			if (error)
				return error;
			/* Ours or another thread's: look again. */
			if (!parent)
				goto again;
			value = load(parent);
			continue;
		}
		parent = &table_at(pool, value)[tree_slot(index, at)];
		if (at == level) {
			*entry = parent;
			return 0;
		}
		value = load(parent);
		at--;
	}
}

int tree_leaf_for_write(struct ram_disk *disk, struct ram_thread *t,
			uint64_t index, entry_t **entry)
{
	struct tree_span span;
	uint64_t root;

	root = atomic_load_explicit(&disk->root, memory_order_acquire);
	tree_span(disk->pool, root, index, &span);
	if (span.leaf &&
	    owned(disk->pool, span.leaf_block,
		  atomic_load_explicit(&disk->owner, memory_order_relaxed))) {
		*entry = span.leaf;
		return 0;
	}
	return tree_entry_for_write(disk, t, index, 1, entry);
}

unsigned tree_drop_table(struct ram_thread *t, uint32_t block)
{
	uint64_t *entry = pool_block(t->pool, block);
	unsigned i, last = 0;

	for (i = 0; i < TABLE_ENTRIES; i++) {
		if (refers(entry[i]))
			last += block_unref(t, entry[i], false);
	}
	return last;
}
