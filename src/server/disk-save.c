/* SPDX-License-Identifier: BSD-3-Clause */
/* See disk-save.h. */
#include "disk-save.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "reason.h"

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

int disk_save(struct ram_pool *pool, struct ram_disk *disk,
	      struct ram_thread *thread, const char *file, unsigned flags,
	      ram_progress *progress, void *arg, struct image_saved *saved,
	      struct ram_why *why)
{
	struct saving s = {.pool = pool, .progress = progress, .arg = arg};
	struct ram_usage usage;
	int error;

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
