/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots and the list of disks. See slots.h.
 *
 * The internal disk is a tree like any other, with one user: it is read and
 * changed only under slots.lock, its tables are never shared and so are changed
 * in place. Its size is what its level reaches. */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "disk.h"
#include "fault.h"
#include "pool.h"
#include "tree.h"

static struct layout_super *super_of(struct ram_pool *pool)
{
	return pool_block(pool, BLOCK_SUPER);
}

static entry_t *slots_root(struct ram_pool *pool)
{
	return (entry_t *)&super_of(pool)->slots_root;
}

uint32_t slot_checksum(const struct layout_slot *image)
{
	const uint8_t *bytes = (const uint8_t *)image;
	const size_t at = offsetof(struct layout_slot, checksum);
	const uint32_t zero = 0;
	uint32_t crc = crc32c(0, bytes, at);

	crc = crc32c(crc, &zero, sizeof(zero));
	return crc32c(crc, bytes + at + sizeof(zero),
		      sizeof(*image) - at - sizeof(zero));
}

uint32_t super_checksum(const struct layout_super *super)
{
	return crc32c(0, super, offsetof(struct layout_super, checksum));
}

/* ------------------------------------------------------- the internal disk */

/* A charged table of the internal disk, all holes but entry 0. */
static int internal_table(struct ram_pool *pool, struct ram_thread *t,
			  unsigned level, uint64_t first, uint32_t *block)
{
	uint64_t *entry;
	int error;

	error = pool_charge(pool, NULL, t, 1);
	if (error)
		return error;
	error = block_take_backed(t, block);
	if (error) {
		charge_settle(pool, NULL, 1, 1);
		return error;
	}
	entry = pool_block(pool, *block);
	memset(entry, 0, BLOCK_SIZE);
	entry[0] = first;
	block_born(pool, *block, level, 0);
	block_landed(pool, 1);
	charge_settle(pool, NULL, 1, 0);
	return 0;
}

/* The entry for a slot; tables are made when `make`. NULL in *entry: there is
 * none. */
static int internal_entry(struct ram_pool *pool, struct ram_thread *t,
			  uint64_t number, bool make, entry_t **entry)
{
	uint64_t root = atomic_load(slots_root(pool));
	unsigned level = root_level(root);
	entry_t *parent = NULL;
	uint64_t value;
	uint32_t block;
	int error;

	*entry = NULL;
	while (number >= tree_reach(level)) {
		if (!make)
			return 0;
		error = internal_table(pool, t, level + 1, root_entry(root),
				       &block);
		if (error)
			return error;
		root = root_make(block, ++level);
		publish(slots_root(pool), root);
	}
	value = root_entry(root);
	for (;; level--) {
		if (value == ENTRY_HOLE) {
			if (!make)
				return 0;
			error = internal_table(pool, t, level, ENTRY_HOLE,
					       &block);
			if (error)
				return error;
			value = block;
			if (parent)
				publish(parent, value);
			else
				publish(slots_root(pool),
					root_make(value, level));
		}
		parent = &table_at(pool, value)[tree_slot(number, level)];
		if (level == 1)
			break;
		value = atomic_load(parent);
	}
	*entry = parent;
	return 0;
}

static int grow_list(struct slots *s)
{
	uint64_t capacity = s->capacity ? s->capacity * 2 : 64;
	struct ram_disk **disk = NULL;

	if (!fault(RAM_FAULT_ALLOC))
		disk = realloc(s->disk, capacity * sizeof(*disk));
	if (!disk)
		return -ENOMEM;
	memset(disk + s->capacity, 0, (capacity - s->capacity) * sizeof(*disk));
	s->disk = disk;
	s->capacity = capacity;
	return 0;
}

int slots_room_for(struct ram_pool *pool, uint64_t number)
{
	int error = 0;

	while (!error && number >= pool->slots.capacity)
		error = grow_list(&pool->slots);
	return error;
}

int slots_reserve(struct ram_pool *pool, uint64_t *number)
{
	struct slots *s = &pool->slots;

	while (s->first_free < s->capacity && s->disk[s->first_free])
		s->first_free++;
	*number = s->first_free;
	return slots_room_for(pool, *number);
}

int slots_publish(struct ram_pool *pool, struct ram_thread *t, uint64_t number,
		  struct layout_slot *image)
{
	entry_t *entry;
	uint32_t block;
	uint64_t old;
	int error;

	image->magic = SLOT_MAGIC;
	image->checksum = slot_checksum(image);
	error = internal_entry(pool, t, number, true, &entry);
	if (error)
		return error;
	old = atomic_load(entry);
	/* The new block inherits the old one's charge. */
	if (old == ENTRY_HOLE) {
		error = pool_charge(pool, NULL, t, 1);
		if (error)
			return error;
	}
	error = block_take_backed(t, &block);
	if (error) {
		if (old == ENTRY_HOLE)
			charge_settle(pool, NULL, 1, 1);
		return error;
	}
	memcpy(pool_block(pool, block), image, sizeof(*image));
	block_born(pool, block, 0, 0);
	publish(entry, block);
	if (old == ENTRY_HOLE) {
		block_landed(pool, 1);
		charge_settle(pool, NULL, 1, 0);
	} else {
		block_unref(t, old, true);
	}
	return 0;
}

void slots_clear(struct ram_pool *pool, struct ram_thread *t, uint64_t number)
{
	entry_t *entry;
	uint64_t old;

	internal_entry(pool, t, number, false, &entry);
	old = publish(entry, ENTRY_HOLE);
	block_unref(t, old, false);
}

const struct layout_slot *slots_image(struct ram_pool *pool, uint64_t number)
{
	entry_t *entry;

	internal_entry(pool, NULL, number, false, &entry);
	return pool_block(pool, atomic_load(entry));
}

/* -------------------------------------------------------------- the list */

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static struct ram_disk **bucket(struct slots *s, const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return &s->bucket[hash % SLOTS_BUCKETS];
}

void slots_insert(struct ram_pool *pool, struct ram_disk *disk)
{
	struct ram_disk **first = bucket(&pool->slots, disk->name);

	pool->slots.disk[disk->number] = disk;
	disk->bucket_next = *first;
	*first = disk;
}

void slots_remove(struct ram_pool *pool, struct ram_disk *disk)
{
	struct slots *s = &pool->slots;
	struct ram_disk **at = bucket(s, disk->name);

	while (*at != disk)
		at = &(*at)->bucket_next;
	*at = disk->bucket_next;
	s->disk[disk->number] = NULL;
	if (disk->number < s->first_free)
		s->first_free = disk->number;
}

struct ram_disk *slots_find(struct ram_pool *pool, const char *name)
{
	struct ram_disk *disk = *bucket(&pool->slots, name);

	while (disk && strcmp(disk->name, name) != 0)
		disk = disk->bucket_next;
	return disk;
}
