/* SPDX-License-Identifier: BSD-3-Clause */
/* See walk.h. Reads only, and believes nothing. */
#include "walk.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "check.h"
#include "slots.h"
#include "tree.h"

/* Pages of the internal disk and of disks never have the same place; and no
 * place is an owner number, so that places may stay where they are. */
#define PLACE_INTERNAL UINT32_C(0x80000000)
#define PLACE_DISK UINT32_C(0x40000000)
_Static_assert(PLACE_DISK > OWNER_MAX, "places are not owners");

struct tree_walk {
	struct walk *w;
	const char *name; /* NULL: the internal disk */
	uint64_t end;	  /* blocks of the disk */
	uint64_t fresh;
	uint32_t salt;
	bool lazy; /* some of it may be not yet fetched */
	walk_slot *visit;
	void *arg;
};

void walk_fault(struct walk *w, const char *disk, const char *format, ...)
{
	size_t used = strlen(w->why->text), size = sizeof(w->why->text);
	char clean[64];
	va_list args;
	unsigned i;

	w->faults++;
	/* Some are enough to know what is to be done. */
	if (w->faults > 8 || used > size - 200)
		return;
	if (disk) {
		/* A damaged name may hold anything. */
		for (i = 0; i < sizeof(clean) - 1 && disk[i]; i++)
			clean[i] = disk[i] >= ' ' && disk[i] < 127 ? disk[i]
								   : '?';
		clean[i] = 0;
		used += snprintf(w->why->text + used, size - used,
				 "%sdisk \"%s\": ", used ? "; " : "", clean);
	} else {
		used += snprintf(w->why->text + used, size - used,
				 "%slist of disks: ", used ? "; " : "");
	}
	va_start(args, format);
	vsnprintf(w->why->text + used, size - used, format, args);
	va_end(args);
}

static inline uint32_t place_of(const struct tree_walk *t, uint64_t index,
				unsigned level)
{
	return ((uint32_t)(index >> (TABLE_SHIFT * level)) & (PLACE_DISK - 1)) |
	       t->salt;
}

/* Note one more use of a page. True: met for the first time, go on below. */
static bool meet(struct tree_walk *t, uint64_t block, unsigned level,
		 uint64_t index)
{
	struct walk *w = t->w;
	uint32_t place = place_of(t, index, level), count;
	struct meta *m;

	if (block < BLOCK_FIRST || block >= w->blocks) {
		walk_fault(w, t->name,
			   "entry for block %llu points at %llu, outside of "
			   "the pool",
			   (unsigned long long)index,
			   (unsigned long long)block);
		return false;
	}
	m = &w->meta[block];
	count = atomic_load_explicit(&m->count, memory_order_relaxed);
	if (count == 0) {
		atomic_store_explicit(&m->count,
				      (uint32_t)level << META_LEVEL_SHIFT | 1,
				      memory_order_relaxed);
		atomic_store_explicit(&m->owner, place, memory_order_relaxed);
		w->used++;
		w->tables += level > 0;
		t->fresh++;
		return true;
	}
	if (count >> META_LEVEL_SHIFT != level) {
		walk_fault(w, t->name,
			   "page %llu is used at two levels, %u and %u",
			   (unsigned long long)block,
			   (unsigned)(count >> META_LEVEL_SHIFT), level);
	} else if (atomic_load_explicit(&m->owner, memory_order_relaxed) !=
			   place ||
		   !t->name) {
		walk_fault(w, t->name, "page %llu is used at two offsets",
			   (unsigned long long)block);
	} else {
		w->shared = true;
		atomic_store_explicit(&m->count, count + 1,
				      memory_order_relaxed);
	}
	return false;
}

static int walk_table(struct tree_walk *t, uint64_t block, unsigned level,
		      uint64_t index);

/* Looking at a page in a hole of the file would make one, or end us by SIGBUS
 * when the file system is full. Data is not looked at. */
static bool holds_memory(struct tree_walk *t, uint64_t block)
{
	bool holds = backing_has_data(&t->w->pool->backing, block);

	if (!holds)
		walk_fault(t->w, t->name, "page %llu holds no memory",
			   (unsigned long long)block);
	return holds;
}

/* What an entry at `level` (that of what it points at) speaks for. */
static int walk_entry(struct tree_walk *t, uint64_t entry, unsigned level,
		      uint64_t index)
{
	struct walk *w = t->w;

	if (entry == ENTRY_HOLE)
		return 0;
	/* Tables may be left there after shrinking, but nothing in them. */
	if (index >= t->end && level == 0) {
		walk_fault(w, t->name,
			   "entry for block %llu, behind the end, is %llu",
			   (unsigned long long)index,
			   (unsigned long long)entry);
		return 0;
	}
	if (entry == ENTRY_UNFETCHED) {
		if (!t->lazy)
			walk_fault(w, t->name, "block %llu was never fetched",
				   (unsigned long long)index);
		return 0;
	}
	if (!meet(t, entry, level, index))
		return 0;
	if ((level > 0 || t->visit) && !w->stopped && !holds_memory(t, entry))
		return 0;
	if (level > 0)
		return walk_table(t, entry, level, index);
	return t->visit ? t->visit(w, index, pool_block(w->pool, entry), t->arg)
			: 0;
}

/* Data, in almost all cases: most of the time of opening a pool goes by here.
 * False: walk_entry() has to have a closer look. */
static inline bool walk_data(struct tree_walk *t, uint64_t entry,
			     uint64_t index)
{
	struct walk *w = t->w;
	struct meta *m;
	uint32_t count;

	if (entry == ENTRY_HOLE)
		return true;
	if (entry < BLOCK_FIRST || entry >= w->blocks || index >= t->end ||
	    t->visit)
		return false;
	m = &w->meta[entry];
	count = atomic_load_explicit(&m->count, memory_order_relaxed);
	if (count == 0) {
		atomic_store_explicit(&m->owner, place_of(t, index, 0),
				      memory_order_relaxed);
		w->used++;
		t->fresh++;
	} else if (count >> META_LEVEL_SHIFT != 0 ||
		   atomic_load_explicit(&m->owner, memory_order_relaxed) !=
			   place_of(t, index, 0)) {
		return false;
	} else {
		w->shared = true;
	}
	atomic_store_explicit(&m->count, count + 1, memory_order_relaxed);
	return true;
}

static int walk_table(struct tree_walk *t, uint64_t block, unsigned level,
		      uint64_t index)
{
	entry_t *entry = table_at(t->w->pool, block);
	uint64_t reach = tree_reach(level - 1), value;
	unsigned i;
	int error = 0;

	if (level == 1 && t->w->stopped && t->w->stopped(t->w))
		return -ECANCELED;
	for (i = 0; level == 1 && i < TABLE_ENTRIES && !error; i++) {
		value = atomic_load_explicit(&entry[i], memory_order_relaxed);
		if (!walk_data(t, value, index + i))
			error = walk_entry(t, value, 0, index + i);
	}
	if (level == 1)
		return error;
	for (i = 0; i < TABLE_ENTRIES && !error; i++)
		error = walk_entry(
			t,
			atomic_load_explicit(&entry[i], memory_order_relaxed),
			level - 1, index + i * reach);
	return error;
}

/* Whether a slot makes sense by itself. */
static bool slot_good(struct walk *w, uint64_t number,
		      const struct layout_slot *s)
{
	const char *what = NULL;

	if (s->magic != SLOT_MAGIC || s->checksum != slot_checksum(s))
		what = "is damaged";
	else if (s->name_len < 1 || memchr(s->name, 0, s->name_len) ||
		 (s->name_len < SLOT_NAME_MAX && s->name[s->name_len]))
		what = "has a name that cannot be";
	else if (s->state < SLOT_MAKING || s->state > SLOT_TEMPORARY ||
		 s->flags & ~SLOT_FLAGS || s->note_len > SLOT_NOTE_SIZE ||
		 s->source_len > (s->flags & SLOT_LAZY ? SLOT_SOURCE_SIZE : 0))
		what = "has fields of a later release, or damaged ones";
	else if (s->size < 1 || s->size > RAM_DISK_MAX ||
		 root_level(s->root) < disk_level(s->size) ||
		 root_level(s->root) > LEVEL_MAX)
		what = "has a size that does not go with its tables";
	if (what)
		walk_fault(w, NULL, "slot %llu %s", (unsigned long long)number,
			   what);
	return !what;
}

struct slot_walk {
	walk_slot *visit;
	void *arg;
};

static int visit_slot(struct walk *w, uint64_t number,
		      const struct layout_slot *image, void *arg)
{
	struct slot_walk *s = arg;

	return slot_good(w, number, image) ? s->visit(w, number, image, s->arg)
					   : 0;
}

int walk_slots(struct walk *w, uint64_t slots_root, walk_slot *visit, void *arg)
{
	struct slot_walk s = {.visit = visit, .arg = arg};
	struct tree_walk t = {
		.w = w,
		.salt = PLACE_INTERNAL,
		.visit = visit_slot,
		.arg = &s,
	};
	unsigned level = root_level(slots_root);

	/* As many slots as there are blocks would be too many. */
	t.end = w->blocks;
	if (level < 1 || level > LEVEL_MAX) {
		walk_fault(w, NULL, "its root has level %u", level);
		return 0;
	}
	return walk_entry(&t, root_entry(slots_root), level, 0);
}

/* Whether no block from `end` on has data below a table that begins at `base`.
 * All tables are known to be sound. */
static bool nothing_beyond(struct ram_pool *pool, uint64_t value,
			   unsigned level, uint64_t base, uint64_t end)
{
	uint64_t reach = tree_reach(level - 1), entry, at;
	entry_t *table = table_at(pool, value);
	unsigned i = 0;

	if (end > base)
		i = min_u64((end - base) / reach, TABLE_ENTRIES);
	for (; i < TABLE_ENTRIES; i++) {
		entry = atomic_load_explicit(&table[i], memory_order_relaxed);
		at = base + i * reach;
		if (entry == ENTRY_HOLE)
			continue;
		if (level == 1 || !refers(entry))
			return false;
		if (!nothing_beyond(pool, entry, level - 1, at, end))
			return false;
	}
	return true;
}

/* The bytes behind the end: of the last block, and in tables that a larger
 * relative reached first. */
static void walk_end(struct tree_walk *t, const struct layout_slot *image)
{
	struct walk *w = t->w;
	unsigned cut = image->size % BLOCK_SIZE, i;
	const uint8_t *byte;
	struct tree_span span;

	if (w->shared && refers(root_entry(image->root)) &&
	    !nothing_beyond(w->pool, root_entry(image->root),
			    root_level(image->root), 0, t->end)) {
		walk_fault(w, t->name, "there is data behind its end");
		return;
	}
	if (cut == 0)
		return;
	tree_span(w->pool, image->root, t->end - 1, &span);
	if (!span.leaf || !refers(atomic_load(span.leaf)) ||
	    !holds_memory(t, atomic_load(span.leaf)))
		return;
	byte = pool_block(w->pool, atomic_load(span.leaf));
	for (i = cut; i < BLOCK_SIZE; i++) {
		if (byte[i] != 0) {
			walk_fault(w, t->name,
				   "bytes behind its end are not "
				   "zero");
			return;
		}
	}
}

void walk_disk(struct walk *w, const struct layout_slot *image, uint64_t *fresh)
{
	char name[SLOT_NAME_MAX + 1] = {0};
	struct tree_walk t = {
		.w = w,
		.name = name,
		.salt = PLACE_DISK,
		.end = disk_blocks(image->size),
		.lazy = image->flags & SLOT_LAZY,
	};

	memcpy(name, image->name, image->name_len);
	if (walk_entry(&t, root_entry(image->root), root_level(image->root), 0))
		return; /* stopped */
	*fresh = t.fresh;
	/* Without any fault so far all tables are sound enough to be followed,
	 * those too that were walked on behalf of a relative. */
	if (w->faults == 0)
		walk_end(&t, image);
}
