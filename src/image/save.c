/* SPDX-License-Identifier: BSD-3-Clause */
/* From a disk into a file. See image.h. */
#include "image.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "target.h"

#define LOOK_MSEC 200u

struct save {
	struct target target;
	struct ram_disk *disk;
	struct ram_thread *thread;
	ram_progress *progress;
	void *arg;
	struct ram_why *why;
	uint64_t done, all; /* of data */
	uint8_t *buf;
};

static bool stopped(struct save *s)
{
	return s->progress &&
	       s->progress(s->arg, min_u64(s->done, s->all), s->all);
}

static int give_up(struct save *s)
{
	return image_fail(s->why, -ECANCELED, s->target.path,
			  "was given up; what was there before is as it was");
}

static int fail_read(struct save *s, int error)
{
	if (error == -EIO)
		return image_fail(s->why, error, s->target.path,
				  "cannot be saved: not all of the disk is "
				  "loaded, and the file with the rest cannot "
				  "be read (see the log)");
	return image_fail(s->why, error, s->target.path,
			  "cannot be saved: the disk cannot be read: %s",
			  strerror(-error));
}

static int put_hole(struct save *s, uint64_t len)
{
	uint64_t n;
	int error = 0;

	/* Where zeroes are written out, that may take long. */
	for (; len > 0 && !error; len -= n) {
		n = s->target.zst ? min_u64(len, 64 * IMAGE_CHUNK) : len;
		error = target_put(&s->target, NULL, n, s->why);
		if (!error && stopped(s))
			error = give_up(s);
	}
	return error;
}

static int put_data(struct save *s, uint64_t len, uint64_t off)
{
	int64_t n;
	int error;

	while (len > 0) {
		n = ram_disk_read(s->disk, s->thread, s->buf,
				  min_u64(len, IMAGE_CHUNK), off);
		if (n == -EAGAIN || n == -EINPROGRESS) {
			ram_wait(s->thread, LOOK_MSEC);
			if (stopped(s))
				return give_up(s);
			continue;
		}
		if (n < 0)
			return fail_read(s, n);
		error = target_put(&s->target, s->buf, n, s->why);
		if (error)
			return error;
		s->done += n;
		if (stopped(s))
			return give_up(s);
		if (s->target.looks && s->target.differs)
			return 0;
		len -= n;
		off += n;
	}
	return 0;
}

static int copy(struct save *s)
{
	uint64_t size = ram_disk_size(s->disk), off = 0;
	struct ram_extent extent;
	int error;

	while (off < size) {
		error = ram_disk_extent(s->disk, s->thread, NULL, size - off,
					off, 0, &extent);
		if (error == -EAGAIN) {
			ram_wait(s->thread, LOOK_MSEC);
			continue;
		}
		if (error)
			return fail_read(s, error);
		error = extent.kind == RAM_HOLE ? put_hole(s, extent.len)
						: put_data(s, extent.len, off);
		/* Who only looks has seen enough. */
		if (error || (s->target.looks && s->target.differs))
			return error;
		off += extent.len;
	}
	return 0;
}

/* 0, and *same: the file holds just this. */
static int look(struct save *s, const char *path, uint64_t size, bool *same)
{
	int error = target_look(&s->target, path, size, s->why);

	if (!error)
		error = copy(s);
	*same = error == 0 && !s->target.differs;
	target_close(&s->target);
	s->done = 0;
	/* A file that cannot be read is replaced. */
	return error == -ECANCELED ? error : 0;
}

static int write_all(struct save *s, const char *path,
		     const struct ram_disk_info *info,
		     struct image_saved *saved)
{
	int error =
		target_open(&s->target, path, info->size, info->held, s->why);

	if (!error)
		error = copy(s);
	if (!error)
		error = target_finish(&s->target, s->why);
	saved->bytes = s->target.written;
	target_close(&s->target);
	return error;
}

int image_save(struct ram_disk *disk, struct ram_thread *thread,
	       const char *path, unsigned flags, ram_progress *progress,
	       void *arg, struct image_saved *saved, struct ram_why *why)
{
	struct save s = {
		.disk = disk,
		.thread = thread,
		.progress = progress,
		.arg = arg,
		.why = why,
		.buf = malloc(IMAGE_CHUNK),
	};
	struct ram_disk_info info;
	int error = 0;

	memset(saved, 0, sizeof(*saved));
	if (!s.buf)
		return image_fail(why, -ENOMEM, path, "no memory");
	ram_disk_info(disk, thread, RAM_INFO_USAGE, &info);
	s.all = info.held;
	if (flags & IMAGE_UNLESS_SAME)
		error = look(&s, path, info.size, &saved->same);
	if (!error && !saved->same)
		error = write_all(&s, path, &info, saved);
	free(s.buf);
	return error;
}
