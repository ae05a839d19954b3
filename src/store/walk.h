/* SPDX-License-Identifier: BSD-3-Clause */
/* Walking all that is reachable and checking it, at open and in audits.
 *
 * Uses are counted into an array of struct meta; a table is descended into only
 * the first time it is met, so the walk ends whatever the tables say. While it
 * runs, and until the page has another owner, meta.owner holds the place at which
 * it was first met. */
#ifndef NBDRAM_STORE_WALK_H
#define NBDRAM_STORE_WALK_H

#include "pool.h"
#include "why.h"

struct walk {
	struct ram_pool *pool;
	struct meta *meta;   /* all zero at first */
	uint64_t blocks;     /* numbers from there on are out of range */
	uint64_t used;	     /* pages met for the first time */
	uint64_t tables;     /* of them */
	bool shared;	     /* some page was met twice */
	struct ram_why *why; /* says what is damaged, in one line */
	unsigned faults;     /* how many were found */
	/* Asked at each leaf, if it is there: true ends the walk. Then also what
	 * is walked is in use, so that its pages hold memory for sure, though
	 * maybe not just now (swapped out). */
	bool (*stopped)(struct walk *w);
	void *arg;
};

/* Called for each slot that can be read; `image` lies in the pool. */
typedef int walk_slot(struct walk *w, uint64_t number,
		      const struct layout_slot *image, void *arg);

/* Walk the internal disk; slots that are damaged are told of and counted in
 * w->faults. Stops with the first error of visit(). */
int walk_slots(struct walk *w, uint64_t slots_root, walk_slot *visit,
	       void *arg);

/* Walk one disk's tree; *fresh is how many pages nobody had met before. */
void walk_disk(struct walk *w, const struct layout_slot *image,
	       uint64_t *fresh);

/* One fault more, in words: `disk` NULL is the list of disks itself. */
__attribute__((format(printf, 3, 4))) void walk_fault(struct walk *w,
						      const char *disk,
						      const char *format, ...);

#endif
