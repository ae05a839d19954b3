/* SPDX-License-Identifier: BSD-3-Clause */
/* See disk-save.h. */
#include "disk-save.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "reason.h"

/* How often is looked whether a file is needed still. */
#define WAIT_MSEC 100u

struct saving {
	struct ram_pool *pool;
	ram_progress *progress;
	void *arg;
	uint64_t refusals; /* of the pool, when it began */
	bool full;
};

void disk_hidden_name(char name[DISK_HIDDEN_NAME])
{
	static _Atomic uint64_t last;

	snprintf(name, DISK_HIDDEN_NAME, "\001image-%" PRIu64,
		 atomic_fetch_add(&last, 1));
}

/* What a snapshot holds may be what a writer waits for, who comes first. */
static bool saving(void *arg, uint64_t done, uint64_t all)
{
	struct saving *s = arg;
	struct ram_usage usage;

	ram_pool_usage(s->pool, &usage);
	s->full = usage.refusals != s->refusals;
	return s->full || s->progress(s->arg, done, all);
}

static int save_moment(struct saving *s, struct ram_disk *disk,
		       struct ram_thread *thread, const char *file,
		       unsigned flags, struct image_saved *saved,
		       struct ram_why *why)
{
	char hidden[DISK_HIDDEN_NAME];
	struct ram_disk_spec spec = {.name = hidden, .state = RAM_TEMPORARY};
	struct ram_disk *snapshot;
	int error;

	disk_hidden_name(hidden);
	error = ram_disk_clone(disk, &spec, RAM_SNAPSHOT, &snapshot);
	if (error == -ENOSPC)
		return reason(why, -EAGAIN,
			      "%s: cannot be saved: the pool is full", file);
	if (error)
		return reason(why, error, "%s: cannot be saved: %s", file,
			      strerror(-error));
	error = image_save(snapshot, thread, file, flags, saving, s, saved,
			   why);
	ram_disk_delete(snapshot);
	ram_disk_put(snapshot);
	return error;
}

/* Whether some disk has still to get something from the file. */
static bool is_source(struct ram_pool *pool, struct ram_thread *thread,
		      const char *file, int *error)
{
	struct ram_disk_info info;
	struct ram_disk *disk;
	uint64_t cursor = 0, off, len;
	bool found = false;

	*error = 0;
	while (ram_disk_next_lazy(pool, &cursor, &disk) == 0) {
		off = 0;
		len = 1;
		ram_disk_info(disk, NULL, 0, &info);
		if (image_source_is(info.source, info.source_len, file) &&
		    ram_disk_missing(disk, thread, &off, &len) == 0) {
			found = true;
			*error = info.fetch_error;
		}
		ram_disk_put(disk);
	}
	return found;
}

/* What disks are being loaded from is replaced when nothing of it is missing. */
static int wait_for_source(struct ram_pool *pool, struct ram_thread *thread,
			   const char *file, ram_progress *progress, void *arg,
			   struct ram_why *why)
{
	int error;

	while (is_source(pool, thread, file, &error)) {
		if (error == -EIO)
			return reason(why, error,
				      "%s: is not replaced: disks are not yet "
				      "loaded from it, and it cannot be read "
				      "(see the log)",
				      file);
		if (progress(arg, 0, 0))
			return reason(why, -ECANCELED,
				      "%s: was not saved: disks are not yet "
				      "loaded from it",
				      file);
		ram_wait(thread, WAIT_MSEC);
	}
	return 0;
}

int disk_save(struct ram_pool *pool, struct ram_disk *disk,
	      struct ram_thread *thread, const char *file, unsigned flags,
	      ram_progress *progress, void *arg, struct image_saved *saved,
	      struct ram_why *why)
{
	struct saving s = {.pool = pool, .progress = progress, .arg = arg};
	struct ram_usage usage;
	int error = wait_for_source(pool, thread, file, progress, arg, why);

	if (error)
		return error;
	if (flags & DISK_STILL)
		return image_save(disk, thread, file, flags & ~DISK_STILL,
				  progress, arg, saved, why);
	ram_pool_usage(pool, &usage);
	s.refusals = usage.refusals;
	error = save_moment(&s, disk, thread, file, flags, saved, why);
	if (error == -ECANCELED && s.full)
		return reason(why, -EAGAIN,
			      "%s: was not saved: the pool has become full, "
			      "and writers need what the save holds; try "
			      "again when there is room",
			      file);
	return error;
}
