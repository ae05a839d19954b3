/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks: making, finding, resizing and deleting them. See store.h. What
 * freezes is in clone.c. */
#include "disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "check.h"
#include "fault.h"
#include "fetch.h"
#include "keeper.h"
#include "pool.h"
#include "service.h"
#include "tree.h"

uint64_t ram_disk_size(const struct ram_disk *disk)
{
	return atomic_load(&((struct ram_disk *)disk)->size);
}

bool ram_disk_readonly(const struct ram_disk *disk)
{
	return disk->readonly;
}

void ram_disk_detect_zeroes(struct ram_disk *disk, bool on)
{
	atomic_store(&disk->detect_zeroes, on);
}

int disk_writable(struct ram_disk *disk, struct ram_thread *t)
{
	if (disk->readonly)
		return -EROFS;
	if (!atomic_load(&disk->frozen))
		return 0;
	/* Thawing wakes every thread; until then others may have memory. */
	wait_done(t);
	return -EAGAIN;
}

static uint64_t bytes_to_blocks(uint64_t bytes)
{
	return div_up(bytes, BLOCK_SIZE);
}

uint64_t disk_guarantee(const struct layout_slot *image)
{
	return image->flags & SLOT_FIXED ? charge_whole(image->size)
					 : bytes_to_blocks(image->guarantee);
}

struct ram_disk *disk_new(struct ram_pool *pool,
			  const struct layout_slot *image, uint64_t number)
{
	struct ram_disk *disk = NULL;

	if (!fault(RAM_FAULT_ALLOC))
		disk = aligned_alloc(64, round_up(sizeof(*disk), 64));
	if (!disk)
		return NULL;
	memset(disk, 0, sizeof(*disk));
	disk->pool = pool;
	disk->number = number;
	disk->readonly = image->flags & SLOT_READONLY;
	disk->state = (enum ram_state)image->state;
	memcpy(disk->name, image->name, image->name_len);
	memcpy(disk->origin, image->origin, sizeof(disk->origin));
	atomic_store(&disk->root, image->root);
	atomic_store(&disk->size, image->size);
	atomic_store(&disk->lazy, image->flags & SLOT_LAZY);
	return disk;
}

int disk_set_root(struct ram_disk *disk, struct ram_thread *t, uint64_t root)
{
	struct layout_slot image;
	int error;

	if (disk->number != SLOT_NONE) {
		image = *slots_image(disk->pool, disk->number);
		image.root = root;
		error = slots_publish(disk->pool, t, disk->number, &image);
		if (error)
			return error;
	}
	atomic_store(&disk->root, root);
	return 0;
}

/* -------------------------------------------------------------- creating */

static bool name_good(const char *name)
{
	size_t len = name ? strnlen(name, RAM_NAME_MAX + 1) : 0;

	return len >= 1 && len <= RAM_NAME_MAX;
}

int disk_image(const struct ram_disk_spec *spec, uint64_t size,
	       struct layout_slot *image)
{
	if (!name_good(spec->name) || size < 1 || size > RAM_DISK_MAX)
		return -EINVAL;
	if (spec->state != RAM_MAKING && spec->state != RAM_WHOLE &&
	    spec->state != RAM_TEMPORARY)
		return -EINVAL;
	memset(image, 0, sizeof(*image));
	image->state = spec->state;
	image->flags = spec->fixed ? SLOT_FIXED : 0;
	image->root = root_make(ENTRY_HOLE, disk_level(size));
	image->size = size;
	image->quota = spec->quota;
	image->guarantee = spec->guarantee;
	image->generation = 1;
	image->name_len = strlen(spec->name);
	memcpy(image->name, spec->name, image->name_len);
	if (getrandom(image->uuid, sizeof(image->uuid), 0) !=
	    sizeof(image->uuid))
		return -EIO;
	memcpy(image->origin, image->uuid, sizeof(image->origin));
	return 0;
}

int disk_enlist(struct ram_pool *pool, struct layout_slot *image,
		uint32_t owner, struct ram_disk **disk)
{
	struct ram_disk *d;
	uint64_t number;
	int error;

	if (slots_find(pool, image->name))
		return -EEXIST;
	error = slots_reserve(pool, &number);
	if (error)
		return error;
	d = disk_new(pool, image, number);
	if (!d)
		return -ENOMEM;
	atomic_store(&d->owner, owner);
	error = charge_set(pool, d, 0, bytes_to_blocks(image->quota),
			   disk_guarantee(image), false);
	if (error)
		goto fail;
	error = slots_publish(pool, pool->service, number, image);
	if (error) {
		charge_forget(pool, d);
		goto fail;
	}
	d->handles = 1;
	slots_insert(pool, d);
	*disk = d;
	return 0;
fail:
	free(d);
	return error;
}

struct create {
	struct layout_slot image;
	struct ram_disk *disk;
};

static int create(struct ram_pool *pool, void *arg)
{
	struct create *c = arg;
	uint32_t owner = pool_new_owner(pool);

	return owner ? disk_enlist(pool, &c->image, owner, &c->disk) : -ENOSPC;
}

int ram_disk_create(struct ram_pool *pool, const struct ram_disk_spec *spec,
		    struct ram_disk **disk)
{
	struct create c = {.disk = NULL};
	int error;

	error = disk_image(spec, spec->size, &c.image);
	if (error)
		return error;
	error = service(pool, create, &c);
	if (error)
		return error;
	if (c.disk->guarantee > 0) {
		/* Memory that is promised is there from the start. */
		error = populate(pool, spec->progress, spec->arg);
		if (error) {
			ram_disk_delete(c.disk);
			ram_disk_put(c.disk);
			return error;
		}
	}
	*disk = c.disk;
	return 0;
}

/* --------------------------------------------------------------- finding */

int ram_disk_open(struct ram_pool *pool, const char *name,
		  struct ram_disk **disk)
{
	struct ram_disk *found;
	int error = -ENOENT;

	if (!name_good(name))
		return error;
	lock_take(&pool->slots.lock);
	found = slots_find(pool, name);
	if (found && found->state == RAM_WHOLE) {
		found->handles++;
		*disk = found;
		error = 0;
	}
	lock_drop(&pool->slots.lock);
	return error;
}

bool ram_disk_related(const struct ram_disk *a, const struct ram_disk *b)
{
	return memcmp(a->origin, b->origin, sizeof(a->origin)) == 0;
}

int ram_disk_next(struct ram_pool *pool, uint64_t *cursor,
		  struct ram_disk **disk)
{
	struct slots *s = &pool->slots;
	struct ram_disk *found;
	int error = -ENOENT;

	lock_take(&s->lock);
	while (*cursor < s->capacity && error) {
		found = s->disk[(*cursor)++];
		if (found && found->state == RAM_WHOLE) {
			found->handles++;
			*disk = found;
			error = 0;
		}
	}
	lock_drop(&s->lock);
	return error;
}

/* Whether it has, or may have, blocks in common with disks of that origin. */
static bool is_related(const struct ram_disk *disk, const uint8_t origin[16])
{
	return memcmp(disk->origin, origin, sizeof(disk->origin)) == 0 ||
	       memcmp(disk->lender, origin, sizeof(disk->lender)) == 0;
}

void disk_relative_gone(struct ram_pool *pool, const uint8_t origin[16])
{
	struct ram_disk *disk;
	uint64_t i;

	for (i = 0; i < pool->slots.capacity; i++) {
		disk = pool->slots.disk[i];
		/* Only for these `own` bounds anything. */
		if (!disk || (disk->quota == 0 && disk->guarantee == 0) ||
		    !is_related(disk, origin))
			continue;
		disk->recount = true;
		keeper_recount(pool);
	}
}

/* A deleted disk without handles: its tree goes to the housekeeper. */
static int discard(struct ram_pool *pool, void *arg)
{
	struct ram_disk *disk = arg;
	uint64_t entry = root_entry(atomic_load(&disk->root));
	struct ram_disk **at;

	if (entry > ENTRY_UNFETCHED)
		block_unref(pool->service, entry, false);
	for (at = &pool->slots.deleted; *at != disk; at = &(*at)->bucket_next)
		;
	*at = disk->bucket_next;
	disk_relative_gone(pool, disk->origin);
	free(disk);
	return 0;
}

void ram_disk_put(struct ram_disk *disk)
{
	struct ram_pool *pool;
	bool gone;

	if (!disk)
		return;
	pool = disk->pool;
	lock_take(&pool->slots.lock);
	gone = --disk->handles == 0 && disk->number == SLOT_NONE;
	lock_drop(&pool->slots.lock);
	if (gone)
		service(pool, discard, disk);
}

/* -------------------------------------------------------------- changing */

static int delete (struct ram_pool *pool, void *arg)
{
	struct ram_disk *disk = arg;

	if (disk->number == SLOT_NONE)
		return -ENOENT;
	slots_clear(pool, pool->service, disk->number);
	slots_remove(pool, disk);
	disk->bucket_next = pool->slots.deleted;
	pool->slots.deleted = disk;
	disk->number = SLOT_NONE;
	disk->state = RAM_DELETING;
	/* Nobody looks after it any more. */
	atomic_store(&disk->fetch_error, -EIO);
	atomic_store(&disk->deleted, true);
	charge_forget(pool, disk);
	return 0;
}

int ram_disk_delete(struct ram_disk *disk)
{
	return service(disk->pool, delete, disk);
}

struct change {
	struct ram_disk *disk;
	enum ram_state state;
	uint64_t size;
	const void *note;
	uint32_t note_len;
};

static int change_state(struct ram_pool *pool, void *arg)
{
	struct change *c = arg;
	struct layout_slot image;
	int error;

	if (c->disk->number == SLOT_NONE)
		return -ENOENT;
	image = *slots_image(pool, c->disk->number);
	image.state = c->state;
	error = slots_publish(pool, pool->service, c->disk->number, &image);
	if (!error)
		c->disk->state = c->state;
	if (!error && atomic_load(&c->disk->lazy))
		fetch_news(pool);
	return error;
}

int ram_disk_state(struct ram_disk *disk, enum ram_state state)
{
	struct change c = {.disk = disk, .state = state};

	if (state != RAM_WHOLE && state != RAM_TEMPORARY)
		return -EINVAL;
	return service(disk->pool, change_state, &c);
}

static int change_note(struct ram_pool *pool, void *arg)
{
	struct change *c = arg;
	struct layout_slot image;

	if (c->disk->number == SLOT_NONE)
		return -ENOENT;
	image = *slots_image(pool, c->disk->number);
	memset(image.note, 0, sizeof(image.note));
	if (c->note_len > 0)
		memcpy(image.note, c->note, c->note_len);
	image.note_len = c->note_len;
	return slots_publish(pool, pool->service, c->disk->number, &image);
}

int ram_disk_note(struct ram_disk *disk, const void *note, uint32_t len)
{
	struct change c = {.disk = disk, .note = note, .note_len = len};

	if (len > RAM_NOTE_MAX)
		return -EINVAL;
	return service(disk->pool, change_note, &c);
}

/* ---------------------------------------------------------------- telling */

static void info_fill(const struct layout_slot *image,
		      struct ram_disk_info *info)
{
	memcpy(info->uuid, image->uuid, sizeof(info->uuid));
	memcpy(info->parent, image->parent, sizeof(info->parent));
	memcpy(info->origin, image->origin, sizeof(info->origin));
	info->generation = image->generation;
	info->quota = image->quota;
	info->readonly = image->flags & SLOT_READONLY;
	info->fixed = image->flags & SLOT_FIXED;
	info->guarantee = disk_guarantee(image) << BLOCK_SHIFT;
	info->note_len = image->note_len;
	memcpy(info->note, image->note, sizeof(info->note));
	info->lazy = image->flags & SLOT_LAZY;
	info->source_len = image->source_len;
	memcpy(info->source, image->source, sizeof(info->source));
}

int ram_disk_info(struct ram_disk *disk, struct ram_thread *thread,
		  unsigned flags, struct ram_disk_info *info)
{
	uint64_t held, own, missing;

	memset(info, 0, sizeof(*info));
	lock_take(&disk->pool->slots.lock);
	memcpy(info->name, disk->name, sizeof(info->name));
	info->size = atomic_load(&disk->size);
	info->state = disk->state;
	info->readonly = disk->readonly;
	info->fetch_error = atomic_load(&disk->fetch_error);
	if (disk->number != SLOT_NONE)
		info_fill(slots_image(disk->pool, disk->number), info);
	lock_drop(&disk->pool->slots.lock);
	if (flags & RAM_INFO_USAGE) {
		disk_count(disk, thread, &held, &own, &missing);
		info->held = held << BLOCK_SHIFT;
		info->own = own << BLOCK_SHIFT;
		info->shared = info->held - info->own;
		info->missing = missing << BLOCK_SHIFT;
	}
	return 0;
}
