/* SPDX-License-Identifier: BSD-3-Clause */
/* Checking a pool while clients use it: ram_pool_scrub().
 *
 * Of each disk a temporary snapshot is taken, all before the first is walked: so
 * their trees stand still and every use that is found has to be counted. Not the
 * other way round: what writers have added since is counted and not found. That
 * lets only memory go unnoticed that nobody reaches any more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "disk.h"
#include "walk.h"

/* Leaves between two looks at whether to go on. */
#define LEAVES_MOST 64

struct scrub {
	struct ram_pool *pool;
	struct walk walk;
	bool (*stop)(void *arg, const struct ram_scrub *so_far);
	void *arg;
	struct ram_scrub *so_far;
	struct ram_disk **disk; /* handles: snapshots, or ours of them */
	uint64_t count, room;
	uint64_t refusals; /* at the beginning */
	unsigned leaves;
	int error; /* why it was stopped */
};

static bool stopped(struct walk *w)
{
	struct scrub *s = w->arg;

	if (s->error)
		return true;
	if (s->leaves++ % LEAVES_MOST != 0)
		return false;
	s->so_far->bytes = w->used << BLOCK_SHIFT;
	if (s->stop && s->stop(s->arg, s->so_far))
		s->error = -ECANCELED;
	/* What we hold may be what a writer waits for. */
	else if (atomic_load(&s->pool->refusals) != s->refusals)
		s->error = -ENOSPC;
	return s->error != 0;
}

/* Its slot, as it is published now. */
static void scrub_slot(struct scrub *s, struct ram_disk *disk)
{
	struct ram_pool *pool = s->pool;
	const struct layout_slot *image;

	lock_take(&pool->slots.lock);
	if (disk->number != SLOT_NONE) {
		image = slots_image(pool, disk->number);
		if (image->magic != SLOT_MAGIC ||
		    image->checksum != slot_checksum(image))
			walk_fault(&s->walk, disk->name, "its slot is damaged");
		else if (image->root != atomic_load(&disk->root) ||
			 image->size != atomic_load(&disk->size))
			walk_fault(&s->walk, disk->name,
				   "slot and memory differ");
	}
	lock_drop(&pool->slots.lock);
}

/* What stands still for as long as we hold it. -ENOENT: it has gone. */
static int hold(struct scrub *s, struct ram_disk *disk,
		struct ram_disk **snapshot)
{
	struct ram_disk_spec spec = {.state = RAM_TEMPORARY};
	char name[64];
	int error;

	if (disk->readonly) {
		*snapshot = disk;
		return 0;
	}
	do {
		/* Nobody else knows it; another may stem from another scrub. */
		snprintf(name, sizeof(name), ".scrub-%llu",
			 (unsigned long long)atomic_fetch_add(&s->pool->scrubs,
							      1));
		spec.name = name;
		error = ram_disk_clone(disk, &spec, RAM_SNAPSHOT, snapshot);
	} while (error == -EEXIST);
	ram_disk_put(disk);
	return error;
}

static int grow(struct scrub *s)
{
	uint64_t room = s->room ? 2 * s->room : 64;
	struct ram_disk **larger;

	if (s->count < s->room)
		return 0;
	larger = realloc(s->disk, room * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	s->disk = larger;
	s->room = room;
	return 0;
}

static int hold_all(struct scrub *s)
{
	struct ram_disk *disk;
	uint64_t cursor = 0;
	int error = 0;

	while (!error && ram_disk_next(s->pool, &cursor, &disk) == 0) {
		scrub_slot(s, disk);
		error = grow(s);
		if (error) {
			ram_disk_put(disk);
			break;
		}
		error = hold(s, disk, &s->disk[s->count]);
		if (!error)
			s->count++;
		else if (error == -ENOENT)
			error = 0;
		if (s->stop && s->stop(s->arg, s->so_far))
			error = -ECANCELED;
	}
	s->so_far->disks = s->count;
	return error;
}

static void let_go(struct scrub *s)
{
	uint64_t i;

	for (i = 0; i < s->count; i++) {
		if (s->disk[i]->state == RAM_TEMPORARY)
			ram_disk_delete(s->disk[i]);
		ram_disk_put(s->disk[i]);
	}
	free(s->disk);
}

/* The image of a disk that stands still. */
static void walk_held(struct scrub *s, struct ram_disk *disk)
{
	struct layout_slot image = {
		.size = atomic_load(&disk->size),
		.root = atomic_load(&disk->root),
		.flags = atomic_load(&disk->lazy) ? SLOT_LAZY : 0,
		.name_len = strlen(disk->name),
	};
	uint64_t fresh;

	memcpy(image.name, disk->name, image.name_len);
	walk_disk(&s->walk, &image, &fresh);
}

/* Each use that was found is counted, and no page of it is free. */
static void compare(struct scrub *s)
{
	struct blocks *b = &s->pool->blocks;
	struct walk *w = &s->walk;
	uint32_t found, counted;
	uint64_t i, end;

	for (i = BLOCK_FIRST; i < b->total && !stopped(w); i = end) {
		end = min_u64(round_down(i, RUN_BLOCKS) + RUN_BLOCKS, b->total);
		lock_take(&b->lock);
		for (; i < end; i++) {
			found = atomic_load_explicit(&w->meta[i].count,
						     memory_order_relaxed);
			if (found == 0)
				continue;
			counted = atomic_load(&s->pool->meta[i].count);
			if (b->group[i / RUN_BLOCKS]
					    .free[i % RUN_BLOCKS / 64] >>
				    i % 64 &
			    1)
				walk_fault(w, NULL,
					   "page %llu is in use and free",
					   (unsigned long long)i);
			else if (counted >> META_LEVEL_SHIFT !=
					 found >> META_LEVEL_SHIFT ||
				 (counted & META_USES) < (found & META_USES))
				walk_fault(w, NULL,
					   "page %llu is used %u times at "
					   "level %u, counted %u at level %u",
					   (unsigned long long)i,
					   found & META_USES,
					   found >> META_LEVEL_SHIFT,
					   counted & META_USES,
					   counted >> META_LEVEL_SHIFT);
		}
		lock_drop(&b->lock);
	}
}

static int scrub(struct scrub *s)
{
	int error = hold_all(s);
	uint64_t i;

	for (i = 0; i < s->count && !error; i++) {
		walk_held(s, s->disk[i]);
		s->so_far->done = i + 1;
		s->leaves = 0;
		stopped(&s->walk);
		error = s->error;
	}
	if (!error)
		compare(s);
	return error ? error : s->error;
}

int ram_pool_scrub(struct ram_pool *pool,
		   bool (*stop)(void *arg, const struct ram_scrub *so_far),
		   void *arg, struct ram_scrub *result, struct ram_why *why)
{
	struct scrub s = {
		.pool = pool,
		.walk = {.pool = pool,
			 .blocks = pool->blocks.total,
			 .why = why,
			 .stopped = stopped},
		.stop = stop,
		.arg = arg,
		.so_far = result,
		.refusals = atomic_load(&pool->refusals),
	};
	int error;

	memset(result, 0, sizeof(*result));
	why->text[0] = 0;
	s.walk.arg = &s;
	s.walk.meta = calloc(pool->blocks.total, sizeof(*s.walk.meta));
	if (!s.walk.meta)
		return why_set(why, -ENOMEM, "no memory to check the pool");
	error = scrub(&s);
	result->bytes = s.walk.used << BLOCK_SHIFT;
	let_go(&s);
	free(s.walk.meta);
	if (s.walk.faults > 0)
		return -EINVAL;
	if (error == -ENOSPC)
		why_set(why, error,
			"the pool has become full meanwhile; try again when "
			"there is more room");
	else if (error)
		why_set(why, error, "%s", strerror(-error));
	return error;
}
