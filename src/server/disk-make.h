/* SPDX-License-Identifier: BSD-3-Clause */
/* One disk as an export of the configuration asks for it. */
#ifndef NBDRAM_SERVER_DISK_MAKE_H
#define NBDRAM_SERVER_DISK_MAKE_H

#include "config.h"
#include "exports.h"
#include "store.h"

/* Who wants to know how much memory is there already, as store.h has it; or to give
 * it up. */
struct disks_watch {
	ram_progress *progress;
	void *arg;
};

/* Memory is being taken for a disk that is guaranteed some, or it is being filled. */
struct disk_taking {
	struct exports *exports;
	const char *name;
	const char *what; /* "N of M MiB ..." of it; begin says of memory */
	const struct disks_watch *watch; /* NULL: nobody but the log */
	uint64_t began, told;		 /* seconds */
};

void disk_taking_begin(struct disk_taking *t, struct exports *exports,
		       const char *name, const struct disks_watch *watch);

/* As ram_progress, with a struct disk_taking: the watch is told, and the log if it
 * lasts; it is given up when the daemon stops. */
bool disk_taking(void *t, uint64_t done, uint64_t all);

/* What is wrong is a line in *errors. Outside every epoch, as all here. */

/* Have the memory ready that a disk is to be guaranteed with the size that o says;
 * ram_disk_unreserve() undoes it. */
int disk_reserve(struct exports *exports, struct ram_disk *disk,
		 const struct config_export *o, const struct disks_watch *watch,
		 struct config_errors *errors);

/* A disk that is there already is given as it is, or with another size. */
int disk_take(struct exports *exports, struct ram_disk *disk,
	      const struct config_export *o, const struct disks_watch *watch,
	      struct config_errors *errors);

/* A new one, empty, a clone or filled (see disk-fill.h), in that state (RAM_WHOLE: kept from now on). *disk
 * is the caller's handle, if the result is 0; else there is no such disk, and a
 * line in *errors. */
int disk_make(struct exports *exports, struct ram_pool *pool,
	      const struct config_export *o, enum ram_state state,
	      const struct disks_watch *watch, struct ram_disk **disk,
	      struct config_errors *errors);

/* Whether a pool without disks would make that refuse o at once; parent: what it
 * is to be a clone of is asked for too. -EINVAL, and a line in *errors. */
int disk_try(const struct config_export *o, bool parent,
	     struct config_errors *errors);

/* A disk that is there already is no clone of what o->clone names: a line in
 * *lines. */
void disk_compare_parent(struct ram_pool *pool, struct ram_disk *disk,
			 const struct config_export *o,
			 struct config_errors *lines);

#endif
