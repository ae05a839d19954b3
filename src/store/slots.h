/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of disks, in memory and in the pool's internal disk of slots. */
#ifndef NBDRAM_STORE_SLOTS_H
#define NBDRAM_STORE_SLOTS_H

#include <stdint.h>

#include "layout.h"
#include "lock.h"

struct ram_pool;
struct ram_thread;
struct ram_disk;

#define SLOT_NONE UINT64_MAX
#define SLOTS_BUCKETS 4096

struct slots {
	struct lock lock;	/* of the list, all slots, and all roots */
	struct ram_disk **disk; /* by slot number; NULL: free */
	uint64_t capacity;
	uint64_t first_free;	  /* no free slot below it */
	struct ram_disk *deleted; /* gone, but still held by someone */
	struct ram_disk *bucket[SLOTS_BUCKETS]; /* by name */
};

/* All of these under slots.lock. */

/* A free number. -ENOMEM. */
int slots_reserve(struct ram_pool *pool, uint64_t *number);

/* Room in the list in memory for that number. -ENOMEM. */
int slots_room_for(struct ram_pool *pool, uint64_t number);

/* Write the slot of a disk as it is described by `image` (its checksum is set
 * here): into a new block that takes the old one's place. The block is taken
 * from the thread's stock. On failure the old one stays. -ENOSPC, -EAGAIN. */
int slots_publish(struct ram_pool *pool, struct ram_thread *t, uint64_t number,
		  struct layout_slot *image);

/* Take the slot away. Cannot fail. */
void slots_clear(struct ram_pool *pool, struct ram_thread *t, uint64_t number);

/* The slot as it is published now; valid while the lock is held. */
const struct layout_slot *slots_image(struct ram_pool *pool, uint64_t number);

void slots_insert(struct ram_pool *pool, struct ram_disk *disk);
void slots_remove(struct ram_pool *pool, struct ram_disk *disk);
struct ram_disk *slots_find(struct ram_pool *pool, const char *name);

uint32_t slot_checksum(const struct layout_slot *image);
uint32_t super_checksum(const struct layout_super *super);

#endif
