/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks by the names under which clients find them. Filled by the main thread
 * before workers start, only read afterwards. */
#ifndef NBDRAM_SERVER_EXPORTS_H
#define NBDRAM_SERVER_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"
#include "store.h"

struct export
{
	const char *name;
	bool readonly;
	bool is_default;       /* found by the empty name too */
	struct ram_disk *disk; /* a handle of ours */
};

struct exports {
	struct export *list;
	unsigned count;
};

/* Find or make the disks of all exports asked for. -errno after one line in the
 * log for each that cannot be had. */
int exports_open(struct exports *exports, const struct config *config,
		 struct ram_pool *pool);
void exports_close(struct exports *exports);

/* The export of that name; "": the default one. NULL: there is none. */
const struct export *exports_find(const struct exports *exports,
				  const char *name);

/* What a client is told about it: what it is for, and which contents it has. */
void export_describe(const struct export *export, char *buf, size_t size);

#endif
