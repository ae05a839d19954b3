/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of exports, and how one is found among ten thousand: by its name, and what
 * is counted for a disk by that disk. Two tables of chains, as many as there is room in
 * the list. For exports.c alone; all functions with exports.lock held. */
#ifndef NBDRAM_SERVER_EXPORTS_INDEX_H
#define NBDRAM_SERVER_EXPORTS_INDEX_H

#include "exports.h"

void exports_index_init(struct exports *exports);
void exports_index_free(struct exports *exports);

/* The place of the export of that name ("": of the default one), or count. */
unsigned exports_find(const struct exports *exports, const char *name);

/* Room for one more. -ENOMEM. */
int exports_make_room(struct exports *exports);

/* Put e at the end, for which there is room; in the place of another, whose name it
 * has; take the one there out: the others keep their order. */
void exports_append(struct exports *exports, struct export *e);
void exports_exchange(struct exports *exports, unsigned place,
		      struct export *e);
void exports_take_out(struct exports *exports, unsigned place);

/* Another list as a whole, which is taken over; *old is the caller's to free. -ENOMEM:
 * nothing has changed. */
int exports_take_list(struct exports *exports, struct export **list,
		      unsigned count, unsigned room, struct export ***old);

/* What is counted for the disk; NULL: nothing. */
struct export_use *exports_use(const struct exports *exports,
			       const struct ram_disk *disk);
void exports_use_add(struct exports *exports, struct export_use *use);
void exports_use_remove(struct exports *exports, struct export_use *use);

#endif
