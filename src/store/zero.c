/* SPDX-License-Identifier: BSD-3-Clause */
/* Trimming and zeroing, in slices. See store.h.
 *
 * Whole subtrees that others use too are unlinked at once. What is the disk's
 * alone is emptied leaf by leaf, so that its own count stays right; a leaf that
 * lies in the range as a whole is unlinked then. A writer may be on its way into
 * such a leaf: its write came before the trim. */
#include <errno.h>
#include <time.h>

#include "check.h"
#include "disk.h"
#include "tree.h"
#include "write.h"

/* A slice: so many nanoseconds, or so many bytes filled with zeroes. */
#define SLICE_NSEC 1000000
#define SLICE_FILL (UINT64_C(2) << 20)

struct zero {
	struct ram_disk *disk;
	struct ram_thread *thread;
	uint64_t end;	   /* the first block behind the range */
	uint64_t disk_end; /* the first block behind the disk */
};

/* Whether the range takes in all of [base, base+reach); for a shared table it is
 * enough that what it leaves out is behind the disk's end. (Not for one of our
 * own: the disk may grow meanwhile, and be written there.) */
static bool covers(const struct zero *z, uint64_t index, uint64_t base,
		   uint64_t reach, bool shared)
{
	if (index != base)
		return false;
	return z->end - base >= reach || (shared && z->end >= z->disk_end);
}

/* Make the entry for the table `value` of `level` a hole. -EAGAIN also when it
 * changed meanwhile: then *advance stays 0 and 0 is returned. */
static int unlink_table(struct zero *z, uint64_t index, unsigned level,
			uint64_t value)
{
	struct ram_disk *disk = z->disk;
	uint64_t root = atomic_load(&disk->root), expected = value;
	entry_t *entry;
	int error = 0;

	if (level == root_level(root)) {
		lock_take(&disk->pool->slots.lock);
		if (atomic_load(&disk->root) != root_make(value, level)) {
			lock_drop(&disk->pool->slots.lock);
			return 0;
		}
		error = disk_set_root(disk, z->thread,
				      root_make(ENTRY_HOLE, level));
		lock_drop(&disk->pool->slots.lock);
		if (error)
			return error;
	} else {
		error = tree_entry_for_write(disk, z->thread, index, level + 1,
					     &entry);
		if (error)
			return error;
		if (!publish_exchange(entry, &expected, ENTRY_HOLE))
			return 0;
	}
	if (refers(value) && block_unref(z->thread, value, false) && level == 1)
		charge_disown(disk->pool, disk, 1);
	return 0;
}

/* Make n entries of one leaf, from `index` on, holes. */
static int clear_entries(struct zero *z, uint64_t index, uint64_t n,
			 entry_t *seen)
{
	struct ram_pool *pool = z->disk->pool;
	uint64_t i, old, own = 0;
	entry_t *entry;
	int error;

	for (i = 0; i < n && atomic_load(&seen[i]) == ENTRY_HOLE; i++)
		;
	if (i == n)
		return 0;
	error = tree_leaf_for_write(z->disk, z->thread, index, &entry);
	if (error)
		return error;
	for (i = 0; i < n; i++) {
		if (atomic_load_explicit(&entry[i], memory_order_relaxed) ==
		    ENTRY_HOLE)
			continue;
		old = publish(&entry[i], ENTRY_HOLE);
		if (refers(old))
			own += block_unref(z->thread, old, false);
	}
	charge_disown(pool, z->disk, own);
	return 0;
}

/* Deal with whole blocks from `index` on: as many as one step may. */
static int zero_step(struct zero *z, uint64_t index, uint64_t *advance)
{
	struct ram_pool *pool = z->disk->pool;
	uint64_t root = atomic_load(&z->disk->root), reach, base, n;
	uint64_t value = root_entry(root);
	unsigned level = root_level(root);
	bool shared = false, covered;
	entry_t *entry;
	int error;

	*advance = 0;
	for (;; level--) {
		reach = tree_reach(level);
		base = round_down(index, reach);
		n = min_u64(base + reach - index, z->end - index);
		if (value == ENTRY_HOLE) {
			*advance = n;
			return 0;
		}
		shared = shared || !refers(value) ||
			 block_uses(pool, value) > 1;
		covered = covers(z, index, base, reach, shared);
		if (covered && shared) {
			error = unlink_table(z, index, level, value);
			return error; /* and look again */
		}
		if (level == 1)
			break;
		entry = &table_at(pool, value)[tree_slot(index, level)];
		value = atomic_load(entry);
	}
	entry = &table_at(pool, value)[tree_slot(index, 1)];
	error = clear_entries(z, index, n, entry);
	if (!error && covered) {
		/* Emptying may have put a table of our own in its place. */
		struct tree_span span;

		tree_span(pool, atomic_load(&z->disk->root), index, &span);
		if (span.leaf)
			error = unlink_table(z, index, 1, span.leaf_block);
	}
	if (!error)
		*advance = n;
	return error;
}

/* Zero a part of one block. */
static int zero_cut(struct zero *z, uint64_t len, uint64_t off)
{
	struct tree_span span;
	int64_t done;

	tree_span(z->disk->pool, atomic_load(&z->disk->root), off / BLOCK_SIZE,
		  &span);
	if ((span.leaf ? atomic_load(span.leaf) : span.fill) == ENTRY_HOLE)
		return 0;
	done = write_leaf(z->disk, z->thread, NULL, len, off);
	return done < 0 ? done : 0;
}

static uint64_t now_nsec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* One step at disk offset `at`, of at most `left` bytes, which end at `end`. */
static int step(struct zero *z, uint64_t at, uint64_t end, unsigned flags,
		uint64_t *done)
{
	const uint64_t leaf = TABLE_ENTRIES * BLOCK_SIZE;
	uint64_t cut = at % BLOCK_SIZE, size = atomic_load(&z->disk->size);
	uint64_t blocks;
	int64_t wrote;
	int error;

	*done = 0;
	if (flags & RAM_KEEP) {
		wrote = write_leaf(z->disk, z->thread, NULL,
				   min_u64(end - at, leaf - at % leaf), at);
		if (wrote > 0)
			*done = wrote;
		return wrote < 0 ? wrote : 0;
	}
	/* The last block of the disk is whole when its last byte is in. */
	if (cut > 0 || (end - at < BLOCK_SIZE && end < size)) {
		*done = min_u64(BLOCK_SIZE - cut, end - at);
		error = zero_cut(z, *done, at);
		if (error)
			*done = 0;
		return error;
	}
	z->end = end == size ? disk_blocks(end) : end / BLOCK_SIZE;
	z->disk_end = disk_blocks(size);
	error = zero_step(z, at / BLOCK_SIZE, &blocks);
	*done = min_u64(blocks * BLOCK_SIZE, end - at);
	return error;
}

static int zeroable(struct ram_disk *disk, struct ram_thread *t, uint64_t len,
		    uint64_t off)
{
	int error = disk_writable(disk, t);

	return !error && !disk_holds(disk, len, off) ? -EINVAL : error;
}

int ram_disk_zero(struct ram_disk *disk, struct ram_thread *t, uint64_t len,
		  uint64_t off, unsigned flags, uint64_t *cursor)
{
	struct zero z = {.disk = disk, .thread = t};
	uint64_t began = now_nsec(), done, filled = 0;
	int error;

	ram_epoch_enter(t);
	error = zeroable(disk, t, len, off);
	while (!error && *cursor < len) {
		error = step(&z, off + *cursor, off + len, flags, &done);
		*cursor += done;
		filled += done;
		if (error || *cursor >= len)
			break;
		if ((flags & RAM_KEEP && filled >= SLICE_FILL) ||
		    now_nsec() - began > SLICE_NSEC) {
			/* Enough for once: let others have their turn. */
			error = -EAGAIN;
			thread_wake(t);
		} else {
			/* The step may have stepped out. */
			error = zeroable(disk, t, len, off);
		}
	}
	return thread_leave(t, error);
}
