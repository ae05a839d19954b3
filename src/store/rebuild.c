/* SPDX-License-Identifier: BSD-3-Clause */
/* See rebuild.h. */
#include "rebuild.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "disk.h"
#include "tree.h"
#include "walk.h"

/* A disk of the list; those that are not whole are dropped later and what only
 * they reach counts as free. */
static int add_disk(struct walk *w, uint64_t number,
		    const struct layout_slot *image, void *arg)
{
	struct ram_pool *pool = w->pool;
	struct ram_disk *disk;
	uint64_t fresh = 0;
	int error;

	(void)arg;
	error = slots_room_for(pool, number);
	if (error)
		return error;
	disk = disk_new(pool, image, number);
	if (!disk)
		return -ENOMEM;
	if (slots_find(pool, disk->name)) {
		walk_fault(w, disk->name, "is there twice");
		free(disk);
		return 0;
	}
	slots_insert(pool, disk);
	if (disk->state != RAM_WHOLE)
		return 0;
	walk_disk(w, image, &fresh);
	/* Right unless others share it: then it is counted once more. */
	charge_set(pool, disk, fresh, div_up(image->quota, BLOCK_SIZE),
		   disk_guarantee(image), true);
	return 0;
}

/* Pages below `entry` that only one disk uses. */
static uint64_t count_own(struct ram_pool *pool, uint64_t entry, unsigned level)
{
	uint64_t own = 1;
	entry_t *table;
	unsigned i;

	if (entry <= ENTRY_UNFETCHED || block_uses(pool, entry) > 1)
		return 0;
	if (level == 0)
		return own;
	table = table_at(pool, entry);
	for (i = 0; i < TABLE_ENTRIES; i++)
		own += count_own(pool, atomic_load(&table[i]), level - 1);
	return own;
}

static void recount(struct ram_pool *pool)
{
	struct ram_disk *disk;
	uint64_t i, root;

	for (i = 0; i < pool->slots.capacity; i++) {
		disk = pool->slots.disk[i];
		/* Only for these it matters. */
		if (!disk || disk->state != RAM_WHOLE ||
		    (disk->quota == 0 && disk->guarantee == 0))
			continue;
		root = atomic_load(&disk->root);
		charge_set(pool, disk,
			   count_own(pool, root_entry(root), root_level(root)),
			   CHARGE_KEEP, disk->guarantee, true);
	}
}

int rebuild(struct ram_pool *pool, uint64_t blocks, struct ram_why *why)
{
	struct layout_super *super = pool_block(pool, BLOCK_SUPER);
	struct walk w = {
		.pool = pool,
		.meta = pool->meta,
		.blocks = blocks,
		.why = why,
	};
	uint64_t blocks_held = backing_occupied(&pool->backing) / BLOCK_SIZE;
	struct ram_why faults;
	int error;

	why->text[0] = 0;
	error = walk_slots(&w, super->slots_root, add_disk, NULL);
	if (error)
		return why_set(why, error, "no memory for the list of disks");
	/* Then some data lies in holes; a read could not be served. */
	if (w.faults == 0 && w.used >= blocks_held)
		walk_fault(&w, NULL,
			   "%llu pages are in use and %llu hold memory",
			   (unsigned long long)w.used + 1,
			   (unsigned long long)blocks_held);
	if (w.faults > 0) {
		faults = *why;
		return why_set(
			why, -EINVAL,
			"%s: the pool is damaged (%.800s); it is left as "
			"it is: move it away to begin a new one",
			backing_name(&pool->backing), faults.text);
	}
	pool->charge.used = w.used;
	atomic_store(&pool->blocks.table_count, w.tables);
	if (w.shared)
		recount(pool);
	return 0;
}

void rebuild_drop(struct ram_pool *pool)
{
	struct ram_disk *disk;
	uint64_t i;

	for (i = 0; i < pool->slots.capacity; i++) {
		disk = pool->slots.disk[i];
		if (!disk)
			continue;
		if (disk->state == RAM_WHOLE) {
			/* No table is its own yet. */
			atomic_store(&disk->owner, pool_new_owner(pool));
			continue;
		}
		slots_clear(pool, pool->service, disk->number);
		slots_remove(pool, disk);
		free(disk);
	}
}
