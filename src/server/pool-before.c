/* SPDX-License-Identifier: BSD-3-Clause */
/* See pool-before.h. */
#include "pool-before.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pool_before_look(struct pool_before *before, const char *path)
{
	struct stat st;

	memset(before, 0, sizeof(*before));
	if (!path)
		return;
	before->folder = strdup(path);
	if (asprintf(&before->file, "%s/pool", path) < 0)
		before->file = NULL;
	if (!before->folder || !before->file) {
		pool_before_free(before);
		return;
	}
	before->had_folder = lstat(before->folder, &st) == 0;
	before->had_file = lstat(before->file, &st) == 0;
}

void pool_before_restore(const struct pool_before *before,
			 struct ram_pool *pool)
{
	struct ram_disk *disk;
	uint64_t cursor = 0;

	if (!before->file || before->had_file)
		return;
	/* Whoever may have been quicker than our look: data stays. */
	if (ram_disk_next(pool, &cursor, &disk) == 0) {
		ram_disk_put(disk);
		return;
	}
	unlink(before->file);
	if (!before->had_folder)
		rmdir(before->folder);
}

void pool_before_free(struct pool_before *before)
{
	free(before->folder);
	free(before->file);
	memset(before, 0, sizeof(*before));
}
