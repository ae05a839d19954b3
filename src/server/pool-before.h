/* SPDX-License-Identifier: BSD-3-Clause */
/* What there was of a pool before we opened it, so that a start that fails leaves
 * nothing behind. The main thread's. */
#ifndef NBDRAM_SERVER_POOL_BEFORE_H
#define NBDRAM_SERVER_POOL_BEFORE_H

#include <stdbool.h>

#include "store.h"

struct pool_before {
	char *folder, *file; /* NULL: anonymous memory, or no memory to look */
	bool had_folder, had_file;
};

/* Look, before ram_pool_open(). path: its folder, or NULL. */
void pool_before_look(struct pool_before *before, const char *path);

/* Remove file and folder of a pool that was not there then and that has no disk
 * in it. It must still be open, for it is ours as long as that; to be closed at
 * once. */
void pool_before_restore(const struct pool_before *before,
			 struct ram_pool *pool);

void pool_before_free(struct pool_before *before);

#endif
