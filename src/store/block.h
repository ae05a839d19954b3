/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks: which are free, who takes them, when a freed one is free again.
 *
 * Each block has two volatile words: how many entries and slots point at it,
 * with its level (0 data, 1 to 6 tables) in the top bits, and for a table the
 * owner number of the disk that may change it in place.
 *
 *   free map --block_refill--> stock of a thread --publish--> reachable
 *      ^                            ^                            |
 *      |                            | (level 0)                  | count 0
 *      +--------------------- limbo, by epoch <------------------+
 *
 * Landing is a number: how many blocks may be on their way (in stocks, staged,
 * swapped out and not yet free) beside those that are charged to disks. */
#ifndef NBDRAM_STORE_BLOCK_H
#define NBDRAM_STORE_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "lock.h"

struct ram_pool;
struct ram_thread;

struct meta {
	_Atomic uint32_t count; /* level << 29 | uses; in limbo: next block */
	_Atomic uint32_t owner; /* tables: who may change it; 0: nobody */
};

#define META_LEVEL_SHIFT 29
#define META_USES ((UINT32_C(1) << META_LEVEL_SHIFT) - 1)

/* Neighbouring blocks. cold: memory for them has not been taken yet. */
struct run {
	uint32_t first;
	uint16_t count;
	bool cold;
};

#define STOCK_RUNS 64

struct stock {
	struct run run[STOCK_RUNS];
	uint32_t runs;
	uint32_t blocks; /* in all of them */
};

/* A list of freed blocks, linked through meta.count. */
struct block_list {
	uint32_t head, tail, count;
};

/* Freed blocks of one epoch (or some earlier ones), by level. `swaps` of them
 * were exchanged for blocks from landing and return there; the others are
 * charged to the pool until they are free. */
struct limbo {
	uint64_t epoch;
	uint32_t count;
	uint32_t swaps;
	struct block_list level[LEVEL_MAX + 1];
};

/* 512 blocks: a bit for each that is free, and for each that holds memory. */
struct group {
	uint64_t free[RUN_BLOCKS / 64];
	uint64_t backed[RUN_BLOCKS / 64]; /* only for free ones */
	uint16_t free_count;
	uint16_t backed_count; /* free and backed */
	bool whole;	       /* all of it is free and holds memory */
	/* No run of a kind is longer than this: what the last search found,
	 * RUN_BLOCKS once something was added. [0] cold, [1] warm. */
	uint16_t longest[2];
};

struct blocks {
	struct lock lock;
	/* Guarded by lock; see freemap.h. */
	uint64_t total; /* blocks there are, BLOCK_FIRST included (fixed) */
	struct group *group;
	uint64_t groups;
	uint64_t *warm_map; /* groups with free blocks that hold memory */
	uint64_t *cold_map; /* groups with free blocks that hold none */
	uint64_t *
		unmapped; /* groups with blocks written through the file only */
	uint64_t warm_hint, cold_hint; /* groups where to look first */
	bool grouped;		       /* fixed after open; see group.h */
	uint64_t whole;	 /* groups that are free as a whole and hold memory */
	uint64_t takes;	 /* how often something was taken from the map */
	uint64_t pushes; /* how often freed blocks were handed over */
	uint64_t limit;	 /* most blocks that may be taken */
	uint64_t free;	 /* in the map */
	uint64_t free_backed;	/* of them, with memory */
	uint64_t backed_low;	/* the least of it since the last look */
	uint64_t hand;		/* in the housekeeper's hand for a moment */
	struct limbo limbo[64]; /* by epoch, EPOCH_RING of them */
	struct block_list dead[LEVEL_MAX + 1]; /* tables whose epoch is over */
	uint64_t dead_count;

	struct run tables; /* set aside for tables */

	/* Put away and not yet free, anywhere; of a thread's own limbo only one
	 * is counted, if there is any. */
	_Atomic uint64_t pending;
	/* Grows under lock, shrinks without: blocks in stocks, staged, and
	 * swapped out but not yet free. Stays within landing. */
	_Atomic uint64_t landing_used;
	uint64_t landing;	      /* fixed after open */
	_Atomic uint64_t table_count; /* that are in use, or not yet free */
};

/* Volatile state for `blocks` blocks, all of them in use. 0 or -ENOMEM. */
int blocks_init(struct ram_pool *pool, uint64_t blocks);
void blocks_destroy(struct ram_pool *pool);

/* That many blocks will be found in use: have their counts ready. */
void blocks_expect(struct ram_pool *pool, uint64_t used);

/* For the walk at open: all blocks whose count is 0 become free. */
void blocks_free_unused(struct ram_pool *pool);

/* Make sure that the thread's stock holds at least one block, better `want`.
 * -EAGAIN (then the thread waits in line), -ENOSPC. */
int block_refill(struct ram_thread *t, uint32_t want);

/* Take at most want neighbouring blocks. 0, -EAGAIN, -ENOSPC. */
int block_take(struct ram_thread *t, uint32_t want, struct run *run);

/* One block with memory behind it, for a table or slot. */
int block_take_backed(struct ram_thread *t, uint32_t *block);

/* Give back what was taken and never published. */
void block_untake(struct ram_thread *t, struct run run);

/* A block of the thread's is about to become reachable: say what it is. */
void block_born(struct ram_pool *pool, uint64_t block, unsigned level,
		uint32_t owner);

/* n blocks from stock became charged ones. */
void block_landed(struct ram_pool *pool, uint64_t n);

/* An entry that pointed at block is gone. When it was the last one, the block
 * is put away and true comes back. swap: it returns to landing, since what
 * replaced it inherited its charge. */
bool block_unref(struct ram_thread *t, uint64_t block, bool swap);
void block_ref(struct ram_pool *pool, uint64_t block);

/* The same for a table that we alone used and whose contents have moved to
 * another one: it is put away, what it points at keeps its uses. */
void block_retire(struct ram_thread *t, uint64_t block);

/* The same for one whose charge has not moved. */
void block_retire_charged(struct ram_thread *t, uint64_t block);

/* How many entries point at it. */
uint32_t block_uses(struct ram_pool *pool, uint64_t block);

/* Hand the thread's limbo and stock over to the pool. Inside or held. */
void limbo_push(struct ram_thread *t);
void stock_empty(struct ram_thread *t);

/* Free what nobody can see any more; level 0 goes to the stock of t while it
 * takes more (t may be NULL). Returns how many blocks were freed or moved on. */
uint64_t limbo_drain(struct ram_pool *pool, struct ram_thread *t);

/* Borrow all idle threads' limbo (and stock) and hand it over. */
void block_collect(struct ram_pool *pool, struct ram_thread *self,
		   bool with_stock);

/* The housekeeper's: take a run out of the free map, and put it back. warm:
 * which kind is wanted. Of a grouped pool it is always a whole group. Count 0:
 * there is none. */
struct run block_hand_out(struct ram_pool *pool, bool warm, uint32_t most);
void block_hand_in(struct ram_pool *pool, struct run run, bool warm);

/* The next table to drop; 0: none. It is free after block_free_dead(). */
uint32_t block_next_dead(struct ram_pool *pool, unsigned *level);
void block_free_dead(struct ram_pool *pool, uint32_t block);

#endif
