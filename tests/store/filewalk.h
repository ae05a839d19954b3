/* SPDX-License-Identifier: BSD-3-Clause */
/* A second reader of the pool file, written from layout.h alone: it walks what
 * is reachable, checks that it is sound and counts it. Tests compare its result
 * with what the store says of the same file. Only for pools that nobody has
 * open. */
#ifndef NBDRAM_TESTS_STORE_FILEWALK_H
#define NBDRAM_TESTS_STORE_FILEWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

enum filewalk_kind {
	WALK_NONE,
	WALK_SLOT,
	WALK_DATA,
	WALK_TABLE,	 /* of a disk */
	WALK_SLOT_TABLE, /* of the internal disk */
};

struct filewalk_page {
	uint8_t kind;  /* enum filewalk_kind */
	uint8_t level; /* of a table */
	uint64_t at;   /* which block of the disk, or the first below a table */
};

struct filewalk {
	uint64_t blocks;	    /* as the superblock says */
	uint64_t reached;	    /* pages of any kind, the superblock not */
	struct filewalk_page *page; /* blocks of them */
	uint64_t slots;
	struct layout_slot *slot; /* copies, in the order of their numbers */
	char error[256];	  /* empty when all is sound */
	/* the walk's own */
	const uint8_t *map;
	const struct layout_slot *disk;
};

/* False, and walk->error, when something is wrong. Call filewalk_free() anyway. */
bool filewalk_read(const char *file, struct filewalk *walk);
void filewalk_free(struct filewalk *walk);

/* CRC-32C (Castagnoli), bit by bit. */
uint32_t filewalk_crc(uint32_t crc, const void *buf, size_t len);

/* The checksum that a slot's block should have. */
uint32_t filewalk_slot_crc(const struct layout_slot *slot);

#endif
