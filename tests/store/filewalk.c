/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filewalk.h"

uint32_t filewalk_crc(uint32_t crc, const void *buf, size_t len)
{
	const uint8_t *at = buf;

	crc = ~crc;
	while (len--) {
		crc ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

uint32_t filewalk_slot_crc(const struct layout_slot *slot)
{
	struct layout_slot copy = *slot;

	copy.checksum = 0;
	return filewalk_crc(0, &copy, sizeof(copy));
}

static bool wrong(struct filewalk *walk, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool wrong(struct filewalk *walk, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(walk->error, sizeof(walk->error), format, args);
	va_end(args);
	return false;
}

/* Note that a page is reached; *first is whether it was new. */
static bool reach(struct filewalk *walk, uint64_t number,
		  enum filewalk_kind kind, unsigned level, uint64_t at,
		  bool *first)
{
	struct filewalk_page *page;

	if (number < BLOCK_FIRST || number >= walk->blocks)
		return wrong(walk, "block %#llx is out of range",
			     (unsigned long long)number);
	page = &walk->page[number];
	*first = page->kind == WALK_NONE;
	if (*first) {
		page->kind = (uint8_t)kind;
		page->level = (uint8_t)level;
		page->at = at;
		walk->reached++;
		return true;
	}
	if (page->kind != kind || page->level != level || page->at != at)
		return wrong(walk,
			     "block %llu is reached as kind %u level %u at "
			     "%#llx and as kind %u level %u at %#llx",
			     (unsigned long long)number, page->kind,
			     page->level, (unsigned long long)page->at, kind,
			     level, (unsigned long long)at);
	/* Only disks share, and they share at the same place. */
	if (kind == WALK_SLOT || kind == WALK_SLOT_TABLE)
		return wrong(walk, "slot block %llu is reached twice",
			     (unsigned long long)number);
	return true;
}

static bool walk_disk(struct filewalk *walk, uint64_t index, uint64_t number);

static bool reach_leaf(struct filewalk *walk, uint64_t number, uint64_t at)
{
	uint64_t size = walk->disk ? walk->disk->size : 0;
	bool first;

	if (!walk->disk)
		return reach(walk, number, WALK_SLOT, 0, at, &first) &&
		       walk_disk(walk, at, number);
	if (!reach(walk, number, WALK_DATA, 0, at, &first))
		return false;
	if (at > (size - 1) / BLOCK_SIZE)
		return wrong(walk,
			     "data at block %#llx of a disk of %llu bytes",
			     (unsigned long long)at, (unsigned long long)size);
	if (at == size / BLOCK_SIZE) {
		const uint8_t *data = walk->map + number * BLOCK_SIZE;

		for (unsigned i = size % BLOCK_SIZE; i < BLOCK_SIZE; i++)
			if (data[i])
				return wrong(walk,
					     "a byte behind the end of %s",
					     walk->disk->name);
	}
	return true;
}

static bool walk_table(struct filewalk *walk, uint64_t number, unsigned level,
		       uint64_t at)
{
	const struct layout_table *table;
	uint64_t step = UINT64_C(1) << TABLE_SHIFT * (level - 1);
	bool first;

	if (!reach(walk, number, walk->disk ? WALK_TABLE : WALK_SLOT_TABLE,
		   level, at, &first))
		return false;
	if (!first)
		return true;
	table = (const void *)(walk->map + number * BLOCK_SIZE);
	for (unsigned i = 0; i < TABLE_ENTRIES; i++) {
		uint64_t below = table->entry[i];

		if (below == ENTRY_HOLE)
			continue;
		if (below == ENTRY_UNFETCHED && walk->disk &&
		    walk->disk->flags & SLOT_LAZY)
			continue;
		if (below == ENTRY_UNFETCHED)
			return wrong(walk, "an entry is not yet fetched");
		if (level == 1 ? !reach_leaf(walk, below, at + i)
			       : !walk_table(walk, below, level - 1,
					     at + i * step))
			return false;
	}
	return true;
}

static bool walk_root(struct filewalk *walk, uint64_t root, uint64_t size)
{
	unsigned level = root_level(root);

	if (level < 1 || level > LEVEL_MAX)
		return wrong(walk, "a root of level %u", level);
	/* 512^level blocks must be enough for the size. */
	if ((size - 1) / BLOCK_SIZE >> TABLE_SHIFT * level)
		return wrong(walk, "level %u is too low for %llu bytes", level,
			     (unsigned long long)size);
	if (root_entry(root) == ENTRY_HOLE)
		return true;
	return walk_table(walk, root_entry(root), level, 0);
}

static bool walk_disk(struct filewalk *walk, uint64_t index, uint64_t number)
{
	const struct layout_slot *slot =
		(const void *)(walk->map + number * BLOCK_SIZE);
	bool sound;

	if (slot->magic != SLOT_MAGIC)
		return wrong(walk, "slot %llu has no magic",
			     (unsigned long long)index);
	if (slot->checksum != filewalk_slot_crc(slot))
		return wrong(walk, "slot %llu has a wrong checksum",
			     (unsigned long long)index);
	if (slot->state < SLOT_MAKING || slot->state > SLOT_TEMPORARY ||
	    slot->flags & ~SLOT_FLAGS || slot->size == 0 ||
	    slot->size > INT64_MAX || slot->name_len == 0 ||
	    slot->note_len > SLOT_NOTE_SIZE || slot->generation == 0)
		return wrong(walk, "slot %llu has an impossible field",
			     (unsigned long long)index);
	walk->slot =
		realloc(walk->slot, (walk->slots + 1) * sizeof(*walk->slot));
	if (!walk->slot)
		abort();
	walk->slot[walk->slots++] = *slot;
	walk->disk = slot;
	sound = walk_root(walk, slot->root, slot->size);
	walk->disk = NULL;
	return sound;
}

bool filewalk_read(const char *file, struct filewalk *walk)
{
	const struct layout_super *super;
	struct stat st;
	bool sound;
	void *map;
	int fd;

	memset(walk, 0, sizeof(*walk));
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return wrong(walk, "%s: %s", file, strerror(errno));
	if (st.st_size < (off_t)BLOCK_SIZE) {
		close(fd);
		return wrong(walk, "%s is too short", file);
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return wrong(walk, "mmap: %s", strerror(errno));
	walk->map = map;
	super = map;
	if (super->magic != SUPER_MAGIC || super->version != LAYOUT_VERSION ||
	    super->block_size != BLOCK_SIZE ||
	    super->checksum !=
		    filewalk_crc(0, super,
				 offsetof(struct layout_super, checksum)))
		sound = wrong(walk, "bad superblock");
	else if (super->blocks < 2 ||
		 super->blocks > (uint64_t)st.st_size / BLOCK_SIZE)
		sound = wrong(walk, "%llu blocks in a file of %lld bytes",
			      (unsigned long long)super->blocks,
			      (long long)st.st_size);
	else {
		walk->blocks = super->blocks;
		walk->page = calloc(walk->blocks, sizeof(*walk->page));
		if (!walk->page)
			abort();
		sound = walk_root(walk, super->slots_root, 1);
	}
	munmap(map, (size_t)st.st_size);
	walk->map = NULL;
	return sound;
}

void filewalk_free(struct filewalk *walk)
{
	free(walk->page);
	free(walk->slot);
	memset(walk, 0, sizeof(*walk));
}
