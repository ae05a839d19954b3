/* SPDX-License-Identifier: BSD-3-Clause */
/* See walk.h. Reads only, and believes nothing. */
#include "walk.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "check.h"
#include "slots.h"
#include "tree.h"

/* Pages of the internal disk and of disks never have the same place. */
#define PLACE_INTERNAL UINT32_C(0x80000000)

struct tree_walk {
	struct walk *w;
	const char *name; /* NULL: the internal disk */
	uint64_t end;	  /* blocks of the disk */
	uint64_t fresh;
	uint32_t salt;
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

/* Note one more use of a page. True: met for the first time, go on below. */
static bool meet(struct tree_walk *t, uint64_t block, unsigned level,
		 uint64_t index)
{
	struct walk *w = t->w;
	uint32_t place = ((uint32_t)(index >> (TABLE_SHIFT * level)) &
			  ~PLACE_INTERNAL) |
			 t->salt;
	struct meta *m;
	uint32_t count;

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

/* What an entry at `level` (that of what it points at) speaks for. */
static int walk_entry(struct tree_walk *t, uint64_t entry, unsigned level,
		      uint64_t index)
{
	struct walk *w = t->w;

	if (entry == ENTRY_HOLE)
		return 0;
	if (index >= t->end) {
		walk_fault(w, t->name,
			   "entry for block %llu, behind the end, is %llu",
			   (unsigned long long)index,
			   (unsigned long long)entry);
		return 0;
	}
	if (entry == ENTRY_UNFETCHED) {
		/* No release so far leaves disks half loaded. */
		walk_fault(w, t->name, "block %llu was never fetched",
			   (unsigned long long)index);
		return 0;
	}
	if (!meet(t, entry, level, index))
		return 0;
	if (level > 0)
		return walk_table(t, entry, level, index);
	return t->visit ? t->visit(w, index, pool_block(w->pool, entry), t->arg)
			: 0;
}

static int walk_table(struct tree_walk *t, uint64_t block, unsigned level,
		      uint64_t index)
{
	entry_t *entry = table_at(t->w->pool, block);
	uint64_t reach = tree_reach(level - 1);
	unsigned i;
	int error = 0;

	for (i = 0; i < TABLE_ENTRIES && !error; i++)
		error = walk_entry(t,
				   atomic_load_explicit(&entry[i],
							memory_order_relaxed),
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
		 s->flags & ~SLOT_FLAGS || s->note_len > SLOT_NOTE_SIZE)
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

void walk_disk(struct walk *w, const struct layout_slot *image, uint64_t *fresh)
{
	char name[SLOT_NAME_MAX + 1] = {0};
	struct tree_walk t = {
		.w = w,
		.name = name,
		.end = disk_blocks(image->size),
	};
	unsigned cut = image->size % BLOCK_SIZE, i, faults = w->faults;
	const uint8_t *byte;
	struct tree_span span;

	memcpy(name, image->name, image->name_len);
	walk_entry(&t, root_entry(image->root), root_level(image->root), 0);
	*fresh = t.fresh;
	if (cut == 0 || w->faults > faults)
		return;
	/* Sound enough to be followed by itself. */
	tree_span(w->pool, image->root, t.end - 1, &span);
	if (!span.leaf || atomic_load(span.leaf) < BLOCK_FIRST)
		return;
	byte = pool_block(w->pool, atomic_load(span.leaf));
	for (i = cut; i < BLOCK_SIZE; i++) {
		if (byte[i] != 0) {
			walk_fault(w, name, "bytes behind its end are not "
					    "zero");
			return;
		}
	}
}
