/* SPDX-License-Identifier: BSD-3-Clause */
/* What is where: holes, data, and what differs between two trees. See store.h. */
#include <errno.h>

#include "check.h"
#include "disk.h"
#include "tree.h"

/* How many entries one call looks at. */
#define LOOK_MOST 65536

/* The kind of the blocks at `index` and for how many it is known. */
static enum ram_extent_kind kind_at(struct ram_pool *pool, uint64_t root,
				    uint64_t index, unsigned flags, uint64_t *n)
{
	struct tree_span span;
	uint64_t entry;

	if (flags & RAM_EXTENT_SHARED)
		tree_span_shared(pool, root, index, &span);
	else
		tree_span(pool, root, index, &span);
	*n = span.leaf ? 1 : span.count;
	entry = span.leaf ? atomic_load(span.leaf) : span.fill;
	if (entry == ENTRY_HOLE)
		return RAM_HOLE;
	if (!(flags & RAM_EXTENT_SHARED))
		return RAM_DATA;
	if (entry == ENTRY_UNFETCHED)
		return span.leaf && span.shared ? RAM_SHARED : RAM_OWN;
	return span.shared || block_uses(pool, entry) > 1 ? RAM_SHARED
							  : RAM_OWN;
}

/* One step down in one of two trees; a mark stands for all below it. */
static uint64_t child(struct ram_pool *pool, uint64_t value, uint64_t index,
		      unsigned level)
{
	if (!refers(value))
		return value;
	return atomic_load(&table_at(pool, value)[tree_slot(index, level)]);
}

/* The entry of a tree that speaks for `index` at `level`, which is at least as
 * high as is its root or not. */
static uint64_t value_at_level(struct ram_pool *pool, uint64_t root,
			       uint64_t index, unsigned level)
{
	uint64_t value = root_entry(root);
	unsigned at = root_level(root);

	if (index >= tree_reach(at))
		return ENTRY_HOLE;
	for (; at > level; at--)
		value = child(pool, value, index, at);
	return value;
}

/* What neither has fetched yet may differ. */
static enum ram_extent_kind compared(uint64_t a, uint64_t b)
{
	return a == b && a != ENTRY_UNFETCHED ? RAM_SAME : RAM_CHANGED;
}

/* Whether two trees hold the same at `index`, and for how many blocks that is
 * known. Equal tables are not descended into. */
static enum ram_extent_kind compare_at(struct ram_pool *pool, uint64_t a,
				       uint64_t b, uint64_t index, uint64_t *n)
{
	unsigned level = min_u64(root_level(a), root_level(b));
	uint64_t in_a, in_b, reach;

	if (index >= tree_reach(level)) {
		/* Only the higher tree reaches so far: the other has holes. */
		in_a = value_at_level(pool, a, index, 0);
		in_b = value_at_level(pool, b, index, 0);
		*n = 1;
		if (in_a == in_b && in_a == ENTRY_HOLE) {
			struct tree_span span;

			tree_span(pool, root_level(a) > level ? a : b, index,
				  &span);
			*n = span.leaf ? 1 : span.count;
		}
		return compared(in_a, in_b);
	}
	in_a = value_at_level(pool, a, index, level);
	in_b = value_at_level(pool, b, index, level);
	while (level > 0 && in_a != in_b) {
		in_a = child(pool, in_a, index, level);
		in_b = child(pool, in_b, index, level);
		level--;
	}
	reach = tree_reach(level);
	*n = reach - (index & (reach - 1));
	return compared(in_a, in_b);
}

int ram_disk_extent(struct ram_disk *disk, struct ram_thread *t,
		    struct ram_disk *base, uint64_t len, uint64_t off,
		    unsigned flags, struct ram_extent *extent)
{
	struct ram_pool *pool = disk->pool;
	uint64_t index = off / BLOCK_SIZE, end, root, base_root, n;
	enum ram_extent_kind kind;
	unsigned looks;

	if (base && base->pool != pool)
		return -EINVAL;
	ram_epoch_enter(t);
	if (len == 0 || !disk_holds(disk, len, off)) {
		ram_epoch_leave(t);
		return -EINVAL;
	}
	root = atomic_load(&disk->root);
	base_root = base ? atomic_load(&base->root) : 0;
	end = disk_blocks(off + len);
	for (looks = 0; index < end && looks < LOOK_MOST; looks++) {
		kind = base ? compare_at(pool, root, base_root, index, &n)
			    : kind_at(pool, root, index, flags, &n);
		if (looks > 0 && kind != extent->kind)
			break;
		extent->kind = kind;
		index = n > end - index ? end : index + n;
	}
	extent->len = min_u64(index * BLOCK_SIZE - off, len);
	if (index == end)
		extent->len = len;
	ram_epoch_leave(t);
	return 0;
}
