/* SPDX-License-Identifier: BSD-3-Clause */
/* Checking a pool that is in use against its tables: ram_pool_check(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "fault.h"
#include "tree.h"
#include "walk.h"

static int audit_disk(struct walk *w, uint64_t number,
		      const struct layout_slot *image, void *arg)
{
	struct ram_disk *disk;
	uint64_t fresh;

	(void)arg;
	disk = number < w->pool->slots.capacity ? w->pool->slots.disk[number]
						: NULL;
	if (!disk)
		walk_fault(w, NULL, "slot %llu has no disk in memory",
			   (unsigned long long)number);
	else if (atomic_load(&disk->root) != image->root ||
		 atomic_load(&disk->size) != image->size)
		walk_fault(w, disk->name, "slot and memory differ");
	walk_disk(w, image, &fresh);
	return 0;
}

/* It has no slot any more, but keeps what it reaches. */
static void audit_deleted(struct walk *w, struct ram_disk *disk)
{
	struct layout_slot image = {
		.size = atomic_load(&disk->size),
		.root = atomic_load(&disk->root),
		.flags = atomic_load(&disk->lazy) ? SLOT_LAZY : 0,
		.name_len = strlen(disk->name),
	};
	uint64_t fresh;

	memcpy(image.name, disk->name, image.name_len);
	walk_disk(w, &image, &fresh);
}

/* What is counted against what was found. */
static void audit_counts(struct walk *w)
{
	struct ram_pool *pool = w->pool;
	struct blocks *b = &pool->blocks;
	const struct group *g;
	uint32_t found, counted;
	uint64_t i;
	bool is_free;

	for (i = BLOCK_FIRST; i < b->total; i++) {
		found = atomic_load(&w->meta[i].count);
		counted = atomic_load(&pool->meta[i].count);
		g = &b->group[i / RUN_BLOCKS];
		is_free = g->free[i % RUN_BLOCKS / 64] >> i % 64 & 1;
		if (found != 0 && is_free)
			walk_fault(w, NULL, "page %llu is in use and free",
				   (unsigned long long)i);
		else if (found != 0 && found != counted)
			walk_fault(w, NULL,
				   "page %llu is used %u times, counted %u",
				   (unsigned long long)i, found & META_USES,
				   counted & META_USES);
	}
}

/* Every block is in use, free, or on its way. */
static void audit_sums(struct walk *w)
{
	struct ram_pool *pool = w->pool;
	struct blocks *b = &pool->blocks;
	uint64_t landing = atomic_load(&b->landing_used);
	uint64_t all = b->free + b->hand + landing + pool->charge.used;

	if (atomic_load(&b->pending) > 0)
		return; /* a view is out */
	if (w->used != pool->charge.used)
		walk_fault(w, NULL, "%llu pages in use, %llu charged",
			   (unsigned long long)w->used,
			   (unsigned long long)pool->charge.used);
	if (all + BLOCK_FIRST != b->total)
		walk_fault(w, NULL,
			   "%llu pages free, %llu landing, %llu used: not all "
			   "of %llu",
			   (unsigned long long)b->free,
			   (unsigned long long)landing,
			   (unsigned long long)pool->charge.used,
			   (unsigned long long)b->total - BLOCK_FIRST);
}

int ram_pool_check(struct ram_pool *pool, struct ram_why *why)
{
	struct layout_super *super = pool_block(pool, BLOCK_SUPER);
	struct walk w = {
		.pool = pool,
		.blocks = pool->blocks.total,
		.why = why,
	};

	struct ram_disk *disk;

	ram_pool_tidy(pool);
	w.meta = calloc(pool->blocks.total, sizeof(*w.meta));
	if (!w.meta)
		return why_set(why, -ENOMEM, "no memory to check the pool");
	why->text[0] = 0;
	lock_take(&pool->slots.lock);
	walk_slots(&w, super->slots_root, audit_disk, NULL);
	for (disk = pool->slots.deleted; disk; disk = disk->bucket_next)
		audit_deleted(&w, disk);
	lock_take(&pool->blocks.lock);
	audit_counts(&w);
	audit_sums(&w);
	lock_drop(&pool->blocks.lock);
	lock_drop(&pool->slots.lock);
	free(w.meta);
	return w.faults > 0 ? -EINVAL : 0;
}
