/* SPDX-License-Identifier: BSD-3-Clause */
/* From a file into a disk. See image.h. */
#include "image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "load.h"

/* So long a load waits for memory that is on its way, and how often it looks. */
#define WAIT_MSEC 10000u
#define LOOK_MSEC 200u

struct load {
	struct source *source;
	struct ram_disk *disk;
	struct ram_thread *thread;
	uint64_t most;
	ram_progress *progress;
	void *arg;
	struct ram_why *why;
};

static bool stopped(struct load *l)
{
	return l->progress &&
	       l->progress(l->arg, l->source->taken, l->source->st.st_size);
}

static int fail_write(struct load *l, int error)
{
	const char *path = l->source->path;

	if (error == -ENOSPC)
		return image_fail(l->why, error, path,
				  "cannot be loaded: the pool has not got the "
				  "memory, or the disk's quota is used up");
	if (error == -ECANCELED)
		return image_fail(l->why, error, path,
				  "was not loaded: it was given up");
	return image_fail(l->why, error, path, "cannot be loaded: %s",
			  strerror(-error));
}

static int write_run(struct load *l, const uint8_t *data, uint64_t len,
		     uint64_t off)
{
	unsigned waited = 0;
	int64_t n;

	while (len > 0) {
		n = ram_disk_write(l->disk, l->thread, data, len, off);
		if (n == -EAGAIN && waited < WAIT_MSEC && !stopped(l)) {
			if (ram_wait(l->thread, LOOK_MSEC) == -ETIMEDOUT)
				waited += LOOK_MSEC;
			continue;
		}
		if (n < 0) {
			ram_wait_cancel(l->thread);
			return fail_write(l, n == -EAGAIN ? -ENOSPC : n);
		}
		waited = 0;
		data += n;
		len -= n;
		off += n;
	}
	return 0;
}

static bool is_zero(const uint8_t *data, size_t len)
{
	return *data == 0 && memcmp(data, data + 1, len - 1) == 0;
}

/* What is no zeroes of it, in runs of blocks. */
static int write_piece(struct load *l, const uint8_t *data, uint64_t len,
		       uint64_t off)
{
	uint64_t begin = 0, at, n;
	int error = 0;

	for (at = 0; at < len && !error; at += n) {
		n = min_u64(RAM_BLOCK - (off + at) % RAM_BLOCK, len - at);
		if (!is_zero(data + at, n))
			continue;
		error = write_run(l, data + begin, at - begin, off + begin);
		begin = at + n;
	}
	if (!error && begin < len)
		error = write_run(l, data + begin, len - begin, off + begin);
	return error;
}

static int grow(struct load *l, uint64_t size)
{
	int error;

	if (l->most > 0 && size > l->most)
		return image_fail(l->why, -EFBIG, l->source->path,
				  "is larger than the disk, which has %" PRIu64
				  " bytes; give it a larger size",
				  l->most);
	if (size <= ram_disk_size(l->disk))
		return 0;
	error = ram_disk_resize(l->disk, size);
	return error ? fail_write(l, error) : 0;
}

static int copy(struct load *l, uint8_t *buf)
{
	uint64_t off;
	int64_t n;
	int error = grow(l, max_u64(l->source->size, 1));

	while (!error) {
		n = source_next(l->source, buf, &off, l->why);
		if (n <= 0)
			return n;
		if (stopped(l))
			return fail_write(l, -ECANCELED);
		error = grow(l, off + n);
		if (!error)
			error = write_piece(l, buf, n, off);
	}
	return error;
}

int load_source(struct source *source, struct ram_disk *disk,
		struct ram_thread *thread, uint64_t most,
		ram_progress *progress, void *arg, struct ram_why *why)
{
	struct load l = {
		.source = source,
		.disk = disk,
		.thread = thread,
		.most = most,
		.progress = progress,
		.arg = arg,
		.why = why,
	};
	uint8_t *buf = malloc(IMAGE_CHUNK);
	int error = buf ? copy(&l, buf)
			: image_fail(why, -ENOMEM, source->path,
				     "no memory to read it");

	free(buf);
	return error;
}

int image_load(const char *path, struct ram_disk *disk,
	       struct ram_thread *thread, uint64_t most, ram_progress *progress,
	       void *arg, uint64_t *size, struct ram_why *why)
{
	struct source source;
	int error = source_open(&source, path, why);

	if (!error)
		error = load_source(&source, disk, thread, most, progress, arg,
				    why);
	*size = source.at;
	source_close(&source);
	return error;
}
