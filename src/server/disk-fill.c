/* SPDX-License-Identifier: BSD-3-Clause */
/* See disk-fill.h. */
#include "disk-fill.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "image.h"
#include "log.h"
#include "reason.h"

/* What mkfs may write beyond what the pool has left: much of it is zeroes, of which
 * none are taken over. */
#define FORMAT_ZEROES (UINT64_C(256) << 20)

void disk_contents(const struct config_export *o,
		   struct disk_contents *contents)
{
	struct stat st;

	memset(contents, 0, sizeof(*contents));
	/* One that cannot be looked at is an error when it is loaded. */
	contents->saved = o->save &&
			  (stat(o->save, &st) == 0 || errno != ENOENT);
	if (contents->saved)
		contents->file = o->save;
	else if (o->image)
		contents->file = o->image;
	else
		contents->format = o->format;
	contents->lazy = contents->file && o->lazy &&
			 image_lazy_can(contents->file);
}

const char *disk_contents_text(const struct disk_contents *contents,
			       char buf[DISK_CONTENTS_TEXT])
{
	char clean[DISK_CONTENTS_TEXT - 40];
	const char *name = contents->file ? contents->file : contents->format;

	snprintf(buf, DISK_CONTENTS_TEXT, "%s %s",
		 contents->lazy	  ? "served, and loaded behind from"
		 : contents->file ? "loaded from"
				  : "formatted as",
		 log_escape(name, strlen(name), clean, sizeof(clean)));
	return buf;
}

static struct image_format image_format_of(const struct config_export *o)
{
	return (struct image_format){
		.name = o->format,
		.label = o->label,
		.block = o->block,
		.files = o->files,
	};
}

int disk_contents_try(const struct config_export *o,
		      struct config_errors *errors)
{
	struct image_format format = image_format_of(o);
	struct disk_contents contents;
	struct ram_why why;

	disk_contents(o, &contents);
	if (!contents.format || o->clone ||
	    image_format_check(&format, &why) == 0)
		return 0;
	config_error(errors, "%s: export %s: %s", o->where, o->name, why.text);
	return -EINVAL;
}

/* What it is promised beside its quota, now that its size is known. */
static int give_promises(struct ram_disk *disk, const struct config_export *o,
			 const char *file, uint64_t size,
			 ram_progress *progress, void *arg, struct ram_why *why)
{
	int error = size == ram_disk_size(disk) ? 0
						: ram_disk_resize(disk, size);

	if (!error && o->size == 0 && (o->fixed || o->guarantee > 0))
		error = ram_disk_promise(disk, o->fixed, o->quota, o->guarantee,
					 progress, arg);
	if (error == -ENOSPC)
		return reason(why, error,
			      "the pool has not got the memory that %s is to "
			      "guarantee",
			      file);
	return error ? reason(why, error, "%s: cannot be loaded: %s", file,
			      strerror(-error))
		     : 0;
}

/* What can never come for want of memory is told now, as when it is loaded at
 * once. */
static int look_at_room(struct ram_pool *pool, struct ram_disk *disk,
			struct ram_thread *thread, const char *file,
			struct ram_why *why)
{
	struct ram_disk_info info;
	struct ram_usage usage;
	uint64_t used;

	ram_disk_info(disk, thread, RAM_INFO_USAGE, &info);
	ram_pool_usage(pool, &usage);
	used = usage.held + usage.guaranteed - usage.freed;
	if ((info.quota == 0 || info.own + info.missing <= info.quota) &&
	    (info.guarantee > 0 || used + info.missing <= usage.most))
		return 0;
	return reason(why, -ENOSPC,
		      "%s: cannot be loaded: the pool has not got the memory, "
		      "or the disk's quota is used up",
		      file);
}

static int load(struct ram_pool *pool, struct ram_disk *disk,
		struct ram_thread *thread, const struct config_export *o,
		const struct disk_contents *contents, ram_progress *progress,
		void *arg, struct ram_why *why)
{
	const char *file = contents->file;
	uint64_t size;
	int error;

	if (o->lazy && !contents->lazy)
		log_warning("export %s: load = lazy is for raw files, of which "
			    "any part can be read; %s is loaded first",
			    o->name, file);
	error = (contents->lazy ? image_lazy : image_load)(
		file, disk, thread, o->size, progress, arg, &size, why);
	if (!error && contents->lazy)
		error = look_at_room(pool, disk, thread, file, why);
	return error ? error
		     : give_promises(disk, o, file, o->size ? o->size : size,
				     progress, arg, why);
}

static int format(struct ram_pool *pool, struct ram_disk *disk,
		  struct ram_thread *thread, const struct config_export *o,
		  ram_progress *progress, void *arg, struct ram_why *why)
{
	struct image_format format = image_format_of(o);
	struct ram_usage usage;
	uint64_t left;

	ram_pool_usage(pool, &usage);
	left = usage.most - min_u64(usage.most, usage.held);
	return image_format(&format, disk, thread,
			    min_u64(left, usage.spare) + FORMAT_ZEROES,
			    progress, arg, why);
}

int disk_fill(struct ram_pool *pool, struct ram_disk *disk,
	      const struct config_export *o,
	      const struct disk_contents *contents, ram_progress *progress,
	      void *arg, struct ram_why *why)
{
	struct ram_thread *thread;
	int error = ram_pool_join(pool, NULL, NULL, &thread);

	if (error)
		return reason(why, error, "no memory to fill it");
	error = contents->file
			? load(pool, disk, thread, o, contents, progress, arg,
			       why)
			: format(pool, disk, thread, o, progress, arg, why);
	ram_pool_leave(thread);
	return error;
}
