/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies in a pool's memory, byte by byte.
 *
 * A pool is one mapping, cut into blocks of 4 KiB. Everything in it refers to
 * blocks by number, never by address, in the processor's own byte order (a pool
 * never leaves the machine that made it).
 *
 *   block 0      superblock
 *   block 1      never used: 1 is the mark "not yet fetched" in an entry
 *   block 2...   tables, slots and data, in no order
 *
 *   superblock --> internal disk, whose block number i is slot i
 *   slot       --> one disk: name, size, root
 *   root       --> table of level L --> ... --> table of level 1 --> data
 *
 * A table is 512 entries of 64 bits. An entry of a table of level L speaks for
 * 512^(L-1) blocks of the disk:
 *
 *   0      a hole: reads as zeroes
 *   1      not yet fetched, at any level, for all below it; may be exchanged
 *          for the fetched block in a table that is shared, too
 *   other  the number of a table of level L-1, or of a data block if L is 1
 *
 * Tables are the only truth. How often a page is used and what is free is not
 * stored; it is counted anew when the pool is opened. */
#ifndef NBDRAM_STORE_LAYOUT_H
#define NBDRAM_STORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_SHIFT 12
#define BLOCK_SIZE 4096u
#define TABLE_SHIFT 9
#define TABLE_ENTRIES 512u
#define RUN_BLOCKS 512u /* a run is at most 2 MiB */

/* 512^6 blocks of 4 KiB are 2^66 bytes: more than a disk may have (2^63 - 1). */
#define LEVEL_MAX 6

#define BLOCK_SUPER 0u
#define BLOCK_FIRST 2u /* the first that may be handed out */

#define ENTRY_HOLE UINT64_C(0)
#define ENTRY_UNFETCHED UINT64_C(1)

/* A root word: the block number of the topmost table (or ENTRY_HOLE, or
 * ENTRY_UNFETCHED) with the level of that table, 1 to LEVEL_MAX, in its low
 * bits, so that both change in one store. */
#define ROOT_LEVEL_BITS 3
#define ROOT_LEVEL_MASK 7u

static inline uint64_t root_make(uint64_t entry, unsigned level)
{
	return entry << ROOT_LEVEL_BITS | level;
}

static inline uint64_t root_entry(uint64_t root)
{
	return root >> ROOT_LEVEL_BITS;
}

static inline unsigned root_level(uint64_t root)
{
	return root & ROOT_LEVEL_MASK;
}

struct layout_table {
	uint64_t entry[TABLE_ENTRIES];
};

/* "nbdrpool" as it lies in memory on a little-endian host; a host of the other
 * order sees another number and refuses the pool. */
#define SUPER_MAGIC UINT64_C(0x6c6f6f707264626e)

#define LAYOUT_VERSION 1

/* Feature bits, as ext4 has them. An unknown bit in `compatible` may be
 * ignored; one in `incompatible` must not: the pool is refused. */
#define FEATURES_COMPATIBLE 0u
#define FEATURES_INCOMPATIBLE 0u

struct layout_super {
	uint64_t magic;
	uint32_t version;    /* LAYOUT_VERSION of the release that made it */
	uint32_t block_size; /* BLOCK_SIZE */
	uint64_t compatible;
	uint64_t incompatible;
	uint8_t uuid[16];
	uint32_t checksum; /* CRC-32C of all above */
	uint32_t reserved;
	/* The two words that are exchanged in place, each by one store, and so
	 * are not covered by the checksum: how many blocks the file has (it may
	 * be longer, after a kill while it grew; never shorter), and the root
	 * of the internal disk, in the form of a slot's root. */
	uint64_t blocks;
	uint64_t slots_root;
};

#define SLOT_MAGIC UINT32_C(0x544f4c53)
#define SLOT_NAME_MAX 255
#define SLOT_NOTE_SIZE 2048
#define SLOT_SOURCE_SIZE 1600

/* States of a slot. Only whole disks are shown; when a pool is opened, those
 * in making, temporary and deleting are dropped. */
enum slot_state {
	SLOT_MAKING = 1,
	SLOT_WHOLE = 2,
	SLOT_DELETING = 3,
	SLOT_TEMPORARY = 4,
};

#define SLOT_READONLY UINT32_C(1) /* a snapshot: never changes */
#define SLOT_FIXED UINT32_C(2)	  /* alloc = fixed */
#define SLOT_LAZY UINT32_C(4)	  /* entries may be ENTRY_UNFETCHED */
#define SLOT_FLAGS (SLOT_READONLY | SLOT_FIXED | SLOT_LAZY)

/* One disk. A slot is never changed: a new one is filled and exchanged for it,
 * so that all its fields change together. */
struct layout_slot {
	uint32_t magic;	     /* SLOT_MAGIC */
	uint32_t checksum;   /* CRC-32C of the block with this field as 0 */
	uint32_t state;	     /* enum slot_state */
	uint32_t flags;	     /* SLOT_* */
	uint64_t root;	     /* see root_make() */
	uint64_t size;	     /* bytes, 1 to 2^63 - 1 */
	uint64_t quota;	     /* bytes of own; 0: none */
	uint64_t guarantee;  /* bytes of own; 0: none */
	uint64_t generation; /* 1 at first; +1 when contents are replaced */
	uint8_t uuid[16];
	uint8_t parent[16]; /* uuid of what it was cloned from; zero: nothing */
	uint8_t origin[16]; /* uuid of the first ancestor; its own if none */
	uint8_t name_len;   /* 1 to 255 */
	char name[SLOT_NAME_MAX];
	uint16_t note_len; /* 0 to SLOT_NOTE_SIZE */
	uint8_t reserved0[6];
	uint8_t note
		[SLOT_NOTE_SIZE]; /* the server's; the store does not read it */
	/* With SLOT_LAZY: where what is not yet fetched comes from. The server's
	 * too, but it belongs to the contents, and goes where they go. */
	uint16_t source_len; /* 0 to SLOT_SOURCE_SIZE */
	uint8_t reserved1[6];
	uint8_t source[SLOT_SOURCE_SIZE];
	uint8_t reserved[72]; /* zero */
};

_Static_assert(sizeof(struct layout_table) == BLOCK_SIZE, "a table is a block");
_Static_assert(sizeof(struct layout_slot) == BLOCK_SIZE, "a slot is a block");
_Static_assert(sizeof(struct layout_super) <= BLOCK_SIZE, "one superblock");

#endif
