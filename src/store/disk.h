/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk as the files of this room see it. */
#ifndef NBDRAM_STORE_DISK_H
#define NBDRAM_STORE_DISK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "pool.h"
#include "store.h"

/* More are asked for again when those have come. */
#define DISK_WANTS 16

struct ram_disk {
	/* Read on every call. root and size are changed under slots.lock. */
	struct ram_pool *pool;
	_Atomic uint64_t root; /* as in the slot */
	_Atomic uint64_t size;
	_Atomic uint32_t owner; /* tables with this number are ours to change */
	_Atomic bool frozen;
	_Atomic bool detect_zeroes;
	_Atomic bool lazy;	 /* entries may be not yet fetched */
	_Atomic int fetch_error; /* why they cannot be now; or 0 */
	_Atomic bool deleted;
	bool readonly;	    /* fixed */
	uint8_t origin[16]; /* fixed: of the first of its lineage */
	/* Of another lineage, from which it has got its contents; slots.lock. All zero:
	 * none since the pool was opened. */
	uint8_t lender[16];

	/* Guarded by charge.lock. */
	_Alignas(64) uint64_t own, quota, guarantee; /* blocks */

	/* Guarded by fetch_lock: blocks that calls have met and that are not yet
	 * fetched, oldest first. */
	uint64_t wants[DISK_WANTS];
	_Atomic unsigned want_count;

	/* Guarded by slots.lock. */
	bool recount; /* a relative has gone or changed: own may be more by now */
	uint64_t number; /* of its slot; SLOT_NONE once deleted */
	unsigned handles;
	enum ram_state state;
	struct ram_disk *bucket_next;
	char name[RAM_NAME_MAX + 1];
};

static inline uint64_t disk_blocks(uint64_t size)
{
	return (size >> BLOCK_SHIFT) + ((size & (BLOCK_SIZE - 1)) != 0);
}

/* The lowest level of a root table that reaches `size` bytes. */
static inline unsigned disk_level(uint64_t size)
{
	uint64_t last = disk_blocks(size) - 1;
	unsigned level = 1;

	while (last >> (TABLE_SHIFT * level) != 0)
		level++;
	return level;
}

/* Whether [off, off+len) lies inside. */
static inline bool disk_holds(struct ram_disk *disk, uint64_t len, uint64_t off)
{
	uint64_t size = atomic_load(&disk->size);

	return off <= size && len <= size - off;
}

/* Whether whole blocks of zeroes are to become holes. */
static inline bool disk_wants_holes(struct ram_disk *disk)
{
	return atomic_load_explicit(&disk->detect_zeroes, memory_order_relaxed);
}

/* Is writing possible now? 0, -EROFS, or -EAGAIN (frozen; the thread will be
 * woken). Inside an epoch. */
int disk_writable(struct ram_disk *disk, struct ram_thread *t);

/* Stop and let go writers: see clone.c. disk_freeze() returns when no writing
 * call is under way. Both under freeze_lock, outside every epoch. */
void disk_freeze(struct ram_disk *disk);
void disk_thaw(struct ram_disk *disk);

/* Exchange the root (for a writer: under slots.lock, the slot first). -ENOSPC,
 * -EAGAIN: unchanged. */
int disk_set_root(struct ram_disk *disk, struct ram_thread *t, uint64_t root);

/* A handle-less disk in memory for the slot's image. NULL: no memory. */
struct ram_disk *disk_new(struct ram_pool *pool,
			  const struct layout_slot *image, uint64_t number);

/* Shrinking, which freezes; size is smaller than it is now. See clone.c. */
int disk_shrink(struct ram_disk *disk, uint64_t size);

/* The slot of a new disk of that spec and size. -EINVAL; -EIO (no uuid). */
int disk_image(const struct ram_disk_spec *spec, uint64_t size,
	       struct layout_slot *image);

/* Promise its guarantee, publish its slot, put it into the list with one
 * handle. Called by way of service(). -EEXIST, -ENOSPC, -ENOMEM, -EAGAIN. */
int disk_enlist(struct ram_pool *pool, struct layout_slot *image,
		uint32_t owner, struct ram_disk **disk);

/* Blocks that it is guaranteed. */
uint64_t disk_guarantee(const struct layout_slot *image);

/* A relative of that origin has gone: what it shared may now be somebody's own.
 * Under slots.lock; keeper.c counts. */
void disk_relative_gone(struct ram_pool *pool, const uint8_t origin[16]);

/* Count what is reachable from the disk (held) and from nowhere else (own), in
 * blocks; and what is not yet fetched. Outside every epoch. */
void disk_count(struct ram_disk *disk, struct ram_thread *t, uint64_t *held,
		uint64_t *own, uint64_t *missing);

/* Charge n blocks to the disk (NULL: to nobody's own). When there is no room:
 * -EAGAIN while freed blocks are on their way back (the thread waits in line),
 * else -ENOSPC. */
int pool_charge(struct ram_pool *pool, struct ram_disk *disk,
		struct ram_thread *t, uint64_t n);

#endif
