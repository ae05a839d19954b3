/* SPDX-License-Identifier: BSD-3-Clause */
/* What a configuration asks of the pool: disks found, made, given their size.
 * Made ready as a whole, so that it can be taken back as a whole. */
#ifndef NBDRAM_SERVER_DISKS_H
#define NBDRAM_SERVER_DISKS_H

#include "disk-make.h"
#include "exports.h"

struct disks_step;

/* Exports that are ready, in no list yet, and what was done for them. */
struct disks_plan {
	/* As many as config has exports, in its order; NULL: it failed. */
	struct export **fresh;
	unsigned count;
	struct disks_step *steps; /* newest first */
};

/* Have all disks that config asks for: those that are there with the size that
 * it says, the others made. Memory comes first, which may last and be given up
 * (watch; NULL: nobody wants to); sizes that clients see, then. What cannot be had
 * is a line in *errors; then, and only then, the result is negative, and
 * disks_undo() is to be called. Outside every epoch. */
int disks_prepare(struct exports *exports, struct ram_pool *pool,
		  const struct config *config, const struct disks_watch *watch,
		  struct disks_plan *plan, struct config_errors *errors);

/* Take all of it back: disks made are deleted, sizes as they were; but a disk that
 * has become larger stays so if a client has opened it since. */
void disks_undo(struct exports *exports, struct disks_plan *plan);

/* It has taken effect (plan->fresh is in the list): note in the disks what they
 * have become, and forget how to undo it. */
void disks_keep(struct exports *exports, struct disks_plan *plan);

/* At start: after the exports of the configuration, those that were made by
 * command and have survived with the pool. Others are kept, and told in the
 * log. */
void disks_restore(struct exports *exports, struct ram_pool *pool);

/* When a server that served before goes on: the exports of config whose disks are
 * in the pool, as these are, whatever config says of them. -ENOMEM; then
 * disks_undo() is to be called. */
int disks_again(struct exports *exports, struct ram_pool *pool,
		const struct config *config, struct disks_plan *plan);

/* What was done, in lines: made, larger, smaller, promised something else. */
void disks_changes(const struct disks_plan *plan, struct config_errors *lines);

/* What disks that were there already have, and config does not ask for: a line
 * for each. */
void disks_differences(const struct disks_plan *plan, struct ram_pool *pool,
		       const struct config *config,
		       struct config_errors *lines);

#endif
