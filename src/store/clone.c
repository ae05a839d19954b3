/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs a moment without writers: clones, snapshots, replacing, shrinking.
 *
 * Freezing: from then on a writing call that begins finds the disk frozen and
 * answers -EAGAIN; those under way are waited for (no call lasts longer than a
 * millisecond). Then two roots may share one tree, provided that the writers of
 * either copy what they change: so both disks get new owner numbers, which stand
 * in no table yet. Constant work, whatever the size. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "disk.h"
#include "fetch.h"
#include "pool.h"
#include "service.h"
#include "tree.h"

void disk_freeze(struct ram_disk *disk)
{
	if (disk->readonly)
		return;
	atomic_store(&disk->frozen, true);
	thread_quiesce(disk->pool);
}

void disk_thaw(struct ram_disk *disk)
{
	if (disk->readonly)
		return;
	atomic_store(&disk->frozen, false);
	wait_wake_all(disk->pool);
}

/* Where contents come from that are not all here goes with them. */
static void contents_source(const struct layout_slot *from,
			    struct layout_slot *to)
{
	to->flags = (to->flags & ~SLOT_LAZY) | (from->flags & SLOT_LAZY);
	to->source_len = from->source_len;
	memcpy(to->source, from->source, sizeof(to->source));
}

struct clone {
	struct ram_disk *src;
	struct layout_slot image;
	struct ram_disk *disk;
};

static int clone_frozen(struct ram_pool *pool, void *arg)
{
	struct clone *c = arg;
	struct ram_disk *src = c->src;
	uint64_t root = atomic_load(&src->root), own = src->own;
	uint64_t entry = root_entry(root);
	const struct layout_slot *from;
	uint32_t owner, src_owner;
	bool temporary;
	int error = 0;

	if (src->number == SLOT_NONE)
		return -ENOENT;
	owner = pool_new_owner(pool);
	src_owner = pool_new_owner(pool);
	if (!owner || !src_owner)
		return -ENOSPC;
	from = slots_image(pool, src->number);
	c->image.size = from->size;
	c->image.root = root;
	c->image.generation = from->generation;
	memcpy(c->image.parent, from->uuid, sizeof(c->image.parent));
	memcpy(c->image.origin, from->origin, sizeof(c->image.origin));

	contents_source(from, &c->image);

	/* What src held alone it now shares: its guarantee begins anew. The
	 * snapshot of a save, which may be given up, promises nothing. */
	temporary = c->image.state == RAM_TEMPORARY;
	if (!src->readonly && !temporary)
		error = charge_set(pool, src, 0, CHARGE_KEEP, src->guarantee,
				   false);
	if (error)
		return error;
	if (entry > ENTRY_UNFETCHED)
		block_ref(pool, entry);
	error = disk_enlist(pool, &c->image, owner, &c->disk);
	if (error) {
		if (entry > ENTRY_UNFETCHED)
			block_unref(pool->service, entry, false);
		if (!src->readonly && !temporary)
			charge_set(pool, src, own, CHARGE_KEEP, src->guarantee,
				   true);
		return error;
	}
	/* What only src had is kept alive by the snapshot from now on. */
	if (c->disk->readonly && !src->readonly && !temporary)
		charge_set(pool, c->disk, own, CHARGE_KEEP, c->disk->guarantee,
			   true);
	atomic_store(&src->owner, src_owner);
	if (atomic_load(&c->disk->lazy))
		fetch_news(pool);
	return 0;
}

int ram_disk_clone(struct ram_disk *src, const struct ram_disk_spec *spec,
		   unsigned flags, struct ram_disk **disk)
{
	struct ram_pool *pool = src->pool;
	struct clone c = {.src = src};
	int error;

	error = disk_image(spec, atomic_load(&src->size), &c.image);
	if (error)
		return error;
	if (flags & RAM_SNAPSHOT)
		c.image.flags |= SLOT_READONLY;

	lock_take(&pool->freeze_lock);
	disk_freeze(src);
	error = service(pool, clone_frozen, &c);
	disk_thaw(src);
	lock_drop(&pool->freeze_lock);
	if (!error)
		*disk = c.disk;
	return error;
}

struct replace {
	struct ram_disk *disk, *from;
};

static int replace_frozen(struct ram_pool *pool, void *arg)
{
	struct replace *r = arg;
	struct ram_disk *disk = r->disk, *from = r->from;
	uint64_t root = atomic_load(&from->root);
	uint64_t old = atomic_load(&disk->root);
	uint32_t owner = pool_new_owner(pool),
		 from_owner = pool_new_owner(pool);
	uint64_t guarantee, own = disk->own, from_own = from->own;
	static const struct layout_slot none;
	struct layout_slot image;
	int error;

	/* What a deleted one has not got will never come. */
	if (disk->number == SLOT_NONE ||
	    (from->number == SLOT_NONE && atomic_load(&from->lazy)))
		return -ENOENT;
	if (!owner || !from_owner)
		return -ENOSPC;
	image = *slots_image(pool, disk->number);
	image.root = root;
	image.size = atomic_load(&from->size);
	image.generation++;
	if (from->number != SLOT_NONE)
		contents_source(slots_image(pool, from->number), &image);
	else
		contents_source(&none, &image);

	guarantee = disk->guarantee;
	error = charge_set(pool, disk, 0, CHARGE_KEEP, disk_guarantee(&image),
			   false);
	if (error)
		return error;
	if (!from->readonly) {
		error = charge_set(pool, from, 0, CHARGE_KEEP, from->guarantee,
				   false);
		if (error)
			goto undo_disk;
	}
	if (root_entry(root) > ENTRY_UNFETCHED)
		block_ref(pool, root_entry(root));
	error = slots_publish(pool, pool->service, disk->number, &image);
	if (error)
		goto undo;

	/* A reader that comes with the old size and the new root, or the other
	 * way round, finds holes at worst. */
	if (image.flags & SLOT_LAZY)
		atomic_store(&disk->lazy, true);
	atomic_store(&disk->fetch_error, 0);
	atomic_store(&disk->root, root);
	atomic_store(&disk->size, image.size);
	atomic_store(&disk->owner, owner);
	if (!(image.flags & SLOT_LAZY))
		atomic_store(&disk->lazy, false);
	if (!from->readonly)
		atomic_store(&from->owner, from_owner);
	if (root_entry(old) > ENTRY_UNFETCHED)
		block_unref(pool->service, root_entry(old), false);
	if (atomic_load(&disk->lazy))
		fetch_news(pool);
	/* Until `from` is gone or written to, nothing of it is anybody's own; and what
	 * it had before may be its relatives' now. */
	if (memcmp(disk->origin, from->origin, sizeof(disk->origin)) != 0)
		memcpy(disk->lender, from->origin, sizeof(disk->lender));
	disk_relative_gone(pool, disk->origin);
	return 0;
undo:
	if (root_entry(root) > ENTRY_UNFETCHED)
		block_unref(pool->service, root_entry(root), false);
	if (!from->readonly)
		charge_set(pool, from, from_own, CHARGE_KEEP, from->guarantee,
			   true);
undo_disk:
	charge_set(pool, disk, own, CHARGE_KEEP, guarantee, true);
	return error;
}

int ram_disk_replace(struct ram_disk *disk, struct ram_disk *from)
{
	struct ram_pool *pool = disk->pool;
	struct replace r = {.disk = disk, .from = from};
	int error;

	if (from->pool != pool)
		return -EINVAL;
	if (disk->readonly)
		return -EROFS;
	if (disk == from)
		return 0;
	lock_take(&pool->freeze_lock);
	disk_freeze(disk);
	disk_freeze(from);
	error = service(pool, replace_frozen, &r);
	disk_thaw(from);
	disk_thaw(disk);
	lock_drop(&pool->freeze_lock);
	return error;
}

struct shrink {
	struct ram_disk *disk;
	uint64_t size;
};

/* Whether all bytes from `size` on are zero, and all whole blocks holes. */
static bool empty_beyond(struct ram_disk *disk, uint64_t size)
{
	uint64_t root = atomic_load(&disk->root), end, index, entry, i;
	const uint8_t *byte;
	struct tree_span span;

	end = disk_blocks(atomic_load(&disk->size));
	if (size % BLOCK_SIZE != 0) {
		tree_span(disk->pool, root, size / BLOCK_SIZE, &span);
		entry = span.leaf ? atomic_load(span.leaf) : span.fill;
		if (entry == ENTRY_UNFETCHED)
			return false;
		byte = entry == ENTRY_HOLE ? disk->pool->zeroes
					   : pool_block(disk->pool, entry);
		for (i = size % BLOCK_SIZE; i < BLOCK_SIZE; i++) {
			if (byte[i] != 0)
				return false;
		}
	}
	for (index = disk_blocks(size); index < end; index += span.count) {
		tree_span(disk->pool, root, index, &span);
		if (!span.leaf && span.fill != ENTRY_HOLE)
			return false;
		for (i = 0; span.leaf && i < span.count; i++) {
			if (atomic_load(&span.leaf[i]) != ENTRY_HOLE)
				return false;
		}
	}
	return true;
}

static int shrink_frozen(struct ram_pool *pool, void *arg)
{
	struct shrink *s = arg;
	struct ram_disk *disk = s->disk;
	struct layout_slot image;
	int error;

	if (disk->number == SLOT_NONE)
		return -ENOENT;
	if (s->size >= atomic_load(&disk->size))
		return -EBUSY; /* somebody resized it meanwhile */
	if (!empty_beyond(disk, s->size))
		return -EBUSY;
	image = *slots_image(pool, disk->number);
	image.size = s->size;
	error = slots_publish(pool, pool->service, disk->number, &image);
	if (error)
		return error;
	atomic_store(&disk->size, s->size);
	charge_set(pool, disk, CHARGE_KEEP, CHARGE_KEEP, disk_guarantee(&image),
		   true);
	return 0;
}

int disk_shrink(struct ram_disk *disk, uint64_t size)
{
	struct shrink s = {.disk = disk, .size = size};
	int error;

	lock_take(&disk->pool->freeze_lock);
	disk_freeze(disk);
	error = service(disk->pool, shrink_frozen, &s);
	disk_thaw(disk);
	lock_drop(&disk->pool->freeze_lock);
	return error;
}
