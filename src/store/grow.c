/* SPDX-License-Identifier: BSD-3-Clause */
/* Another size for a disk. What a larger one is guaranteed gets its memory before
 * anybody sees the size: it may be too much, or be given up. See store.h. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "disk.h"
#include "keeper.h"
#include "pool.h"
#include "service.h"
#include "tree.h"

struct growth {
	struct ram_disk *disk;
	uint64_t size;
	bool more; /* it is guaranteed more than before */
};

/* Put tables on top of the root until it reaches `level`. Not published. */
static int raise_root(struct ram_disk *disk, unsigned level, uint64_t *root)
{
	struct ram_pool *pool = disk->pool;
	uint64_t *entry, top = root_entry(*root);
	unsigned at = root_level(*root);
	uint32_t block;
	int error;

	for (; at < level && top != ENTRY_HOLE; at++) {
		error = pool_charge(pool, disk, pool->service, 1);
		if (error)
			return error;
		error = block_take_backed(pool->service, &block);
		if (error) {
			charge_settle(pool, disk, 1, 1);
			return error;
		}
		entry = pool_block(pool, block);
		memset(entry, 0, BLOCK_SIZE);
		entry[0] = top;
		block_born(pool, block, at + 1, atomic_load(&disk->owner));
		block_landed(pool, 1);
		charge_settle(pool, disk, 1, 0);
		top = block;
		*root = root_make(top, at + 1);
	}
	*root = root_make(top, level);
	return 0;
}

/* Undo raise_root(). */
static void lower_root(struct ram_disk *disk, uint64_t raised, uint64_t root)
{
	struct ram_thread *t = disk->pool->service;
	uint64_t top = root_entry(raised), next;
	unsigned at;

	for (at = root_level(raised); top != root_entry(root); at--) {
		if (top != ENTRY_HOLE) {
			next = *(uint64_t *)pool_block(disk->pool, top);
			block_retire_charged(t, top);
			charge_disown(disk->pool, disk, 1);
			top = next;
		}
	}
}

static int grow(struct ram_pool *pool, void *arg)
{
	struct growth *c = arg;
	struct ram_disk *disk = c->disk;
	struct layout_slot image;
	uint64_t root = atomic_load(&disk->root), old = root;
	uint64_t guarantee = disk->guarantee;
	int error;

	if (disk->number == SLOT_NONE)
		return -ENOENT;
	/* Another has made it as large meanwhile. */
	if (atomic_load(&disk->size) >= c->size)
		return 0;
	image = *slots_image(pool, disk->number);
	image.size = c->size;
	error = charge_set(pool, disk, CHARGE_KEEP, CHARGE_KEEP,
			   disk_guarantee(&image), false);
	if (error)
		return error;
	if (disk_level(c->size) > root_level(root))
		error = raise_root(disk, disk_level(c->size), &root);
	image.root = root;
	if (!error)
		error = slots_publish(pool, pool->service, disk->number,
				      &image);
	if (error) {
		lower_root(disk, root, old);
		charge_set(pool, disk, CHARGE_KEEP, CHARGE_KEEP, guarantee,
			   true);
		return error;
	}
	atomic_store(&disk->root, root);
	atomic_store(&disk->size, c->size);
	return 0;
}

/* Guarantee what the disk would be guaranteed if it had that size, or at least
 * what it has. */
static int reserve(struct ram_pool *pool, void *arg)
{
	struct growth *c = arg;
	struct ram_disk *disk = c->disk;
	uint64_t before = disk->guarantee, wanted;
	struct layout_slot image;
	int error;

	if (disk->number == SLOT_NONE)
		return -ENOENT;
	image = *slots_image(pool, disk->number);
	image.size = max_u64(image.size, c->size);
	wanted = disk_guarantee(&image);
	error = charge_set(pool, disk, CHARGE_KEEP, CHARGE_KEEP, wanted, false);
	c->more = !error && wanted > before;
	return error;
}

void ram_disk_unreserve(struct ram_disk *disk)
{
	struct growth c = {.disk = disk};

	/* Less than it has been never fails; nothing is left of one that was
	 * deleted. */
	service(disk->pool, reserve, &c);
	wait_wake_first(disk->pool);
}

int ram_disk_reserve(struct ram_disk *disk, uint64_t size,
		     ram_progress *progress, void *arg)
{
	struct growth c = {.disk = disk, .size = size};
	int error;

	if (size < 1 || size > RAM_DISK_MAX)
		return -EINVAL;
	if (disk->readonly)
		return -EROFS;
	error = service(disk->pool, reserve, &c);
	if (error || !c.more)
		return error;
	error = populate(disk->pool, progress, arg);
	if (error)
		ram_disk_unreserve(disk);
	return error;
}

int ram_disk_resize(struct ram_disk *disk, uint64_t size)
{
	struct growth c = {.disk = disk, .size = size};
	uint64_t now = atomic_load(&disk->size);
	int error;

	if (size < 1 || size > RAM_DISK_MAX)
		return -EINVAL;
	if (disk->readonly)
		return -EROFS;
	if (size < now)
		return disk_shrink(disk, size);
	if (size == now)
		return 0;
	error = ram_disk_reserve(disk, size, NULL, NULL);
	if (error)
		return error;
	error = service(disk->pool, grow, &c);
	if (error)
		ram_disk_unreserve(disk);
	return error;
}
