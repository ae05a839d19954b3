/* SPDX-License-Identifier: BSD-3-Clause */
/* One disk as an export of the configuration asks for it. */
#ifndef NBDRAM_SERVER_DISK_MAKE_H
#define NBDRAM_SERVER_DISK_MAKE_H

#include "config.h"
#include "exports.h"
#include "store.h"

/* A disk that is there already is given as it is, or with another size. What is
 * wrong is a line in *errors. Outside every epoch, as all here. */
int disk_take(struct exports *exports, struct ram_disk *disk,
	      const struct config_export *o, struct config_errors *errors);

/* A new one, empty or a clone. *disk is the caller's handle, if the result is
 * 0; else there is no such disk, and a line in *errors. */
int disk_make(struct exports *exports, struct ram_pool *pool,
	      const struct config_export *o, struct ram_disk **disk,
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
