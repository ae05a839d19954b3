/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting: what a disk holds, what the pool uses. See store.h. */
#include "check.h"
#include "disk.h"
#include "headroom.h"
#include "pool.h"
#include "tree.h"

struct tally {
	uint64_t held, own, missing;
};

/* Count what begins at block `index`: the tables whose first block it is, and
 * the data of its leaf. Returns how many blocks that covers, `left` at most. */
static uint64_t tally_at(struct ram_disk *disk, uint64_t index, uint64_t left,
			 struct tally *sum)
{
	struct ram_pool *pool = disk->pool;
	uint64_t root = atomic_load(&disk->root), value = root_entry(root);
	unsigned level = root_level(root), i;
	bool shared = false, alone;
	entry_t *table = NULL;

	for (; level > 0 && refers(value); level--) {
		shared = shared || block_uses(pool, value) > 1;
		if ((index & (tree_reach(level) - 1)) == 0) {
			sum->held++;
			sum->own += !shared;
		}
		table = table_at(pool, value);
		if (level == 1)
			break;
		value = atomic_load(&table[tree_slot(index, level)]);
	}
	if (!refers(value)) {
		left = min_u64(left, tree_reach(level) -
					     (index & (tree_reach(level) - 1)));
		sum->missing += value == ENTRY_UNFETCHED ? left : 0;
		return left;
	}
	for (i = 0; i < TABLE_ENTRIES; i++) {
		value = atomic_load(&table[i]);
		sum->missing += value == ENTRY_UNFETCHED;
		if (!refers(value))
			continue;
		alone = !shared && block_uses(pool, value) == 1;
		sum->held++;
		sum->own += alone;
	}
	return TABLE_ENTRIES;
}

void disk_count(struct ram_disk *disk, struct ram_thread *t, uint64_t *held,
		uint64_t *own, uint64_t *missing)
{
	struct tally sum = {0, 0, 0};
	uint64_t index = 0, end = disk_blocks(atomic_load(&disk->size));

	while (index < end) {
		/* A leaf at a time, so that nothing waits for us. */
		ram_epoch_enter(t);
		index += tally_at(disk, index, end - index, &sum);
		ram_epoch_leave(t);
	}
	*held = sum.held;
	*own = sum.own;
	*missing = sum.missing;
}

void ram_pool_usage(struct ram_pool *pool, struct ram_usage *usage)
{
	struct blocks *b = &pool->blocks;
	struct charge *c = &pool->charge;
	uint64_t pending;

	headroom_look(pool);
	lock_take(&b->lock);
	usage->warm = b->free_backed << BLOCK_SHIFT;
	usage->size = pool->size;
	usage->landing = b->landing << BLOCK_SHIFT;
	usage->landing_used = atomic_load(&b->landing_used) << BLOCK_SHIFT;
	pending = atomic_load(&b->pending);
	lock_take(&c->lock);
	usage->held = c->used << BLOCK_SHIFT;
	usage->most = c->limit << BLOCK_SHIFT;
	usage->guaranteed = c->promised << BLOCK_SHIFT;
	usage->headroom = c->keep;
	usage->spare = c->spare;
	lock_drop(&c->lock);
	lock_drop(&b->lock);
	usage->freed = pending << BLOCK_SHIFT;
	usage->tables = atomic_load(&b->table_count) << BLOCK_SHIFT;
	usage->backing = backing_occupied(&pool->backing);
	usage->refusals = atomic_load(&pool->refusals);
}
