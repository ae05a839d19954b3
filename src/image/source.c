/* SPDX-License-Identifier: BSD-3-Clause */
/* See source.h. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "check.h"

/* A pipe or device is not even opened, for that may wait or do something. */
static int open_file(struct source *s, struct ram_why *why)
{
	if (stat(s->path, &s->st) < 0)
		return image_fail(why, -errno, s->path, "cannot be read: %s",
				  strerror(errno));
	if (S_ISDIR(s->st.st_mode))
		return image_fail(why, -EINVAL, s->path,
				  "is a folder; the file of an image is "
				  "wanted");
	if (!S_ISREG(s->st.st_mode))
		return image_fail(why, -EINVAL, s->path, "is no regular file");
	s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (s->fd < 0 || fstat(s->fd, &s->st) < 0)
		return image_fail(why, -errno, s->path, "cannot be read: %s",
				  strerror(errno));
	/* It may have been exchanged meanwhile. */
	if (!S_ISREG(s->st.st_mode))
		return image_fail(why, -EINVAL, s->path, "is no regular file");
	if (s->st.st_size == 0)
		return image_fail(why, -EINVAL, s->path,
				  "is empty; an image has at least one byte");
	return 0;
}

int source_open(struct source *s, const char *path, struct ram_why *why)
{
	int error;

	memset(s, 0, sizeof(*s));
	s->path = path;
	s->fd = -1;
	error = open_file(s, why);
	if (error || !image_is_zst(path)) {
		s->size = error ? 0 : s->st.st_size;
		return error;
	}
	s->zst = ZSTD_createDCtx();
	s->input = malloc(IMAGE_CHUNK);
	if (!s->zst || !s->input)
		return image_fail(why, -ENOMEM, path, "no memory to read it");
	return 0;
}

int source_take(struct source *s, int fd, const char *name, struct ram_why *why)
{
	memset(s, 0, sizeof(*s));
	s->path = name;
	s->fd = fd;
	s->eats = true;
	if (fstat(fd, &s->st) < 0)
		return image_fail(why, -errno, name, "cannot be read: %s",
				  strerror(errno));
	s->size = s->st.st_size;
	return 0;
}

void source_close(struct source *s)
{
	ZSTD_freeDCtx(s->zst);
	free(s->input);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int64_t fail_read(struct source *s, int error, struct ram_why *why)
{
	return image_fail(why, -error, s->path, "cannot be read: %s",
			  strerror(error));
}

/* Whoever writes to it now: what was read is no image of any moment. */
static int64_t fail_changed(struct source *s, struct ram_why *why)
{
	return image_fail(why, -EINVAL, s->path,
			  "has changed while it was read; try again when "
			  "nobody writes to it");
}

static int64_t check_unchanged(struct source *s, struct ram_why *why)
{
	struct stat now;

	if (fstat(s->fd, &now) < 0)
		return fail_read(s, errno, why);
	if (now.st_size != s->st.st_size ||
	    now.st_mtim.tv_sec != s->st.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != s->st.st_mtim.tv_nsec)
		return fail_changed(s, why);
	return 0;
}

/* ------------------------------------------------------------------- raw */

bool source_find_data(struct source *s)
{
	off_t data, hole;

	if (s->at < s->end)
		return true;
	data = lseek(s->fd, s->at, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		return false;
	hole = data < 0 ? -1 : lseek(s->fd, data, SEEK_HOLE);
	if (hole < 0) {
		/* This file system does not tell. */
		s->end = s->size;
		return true;
	}
	s->at = data;
	s->end = min_u64(hole, s->size);
	return s->at < s->size;
}

static int64_t next_raw(struct source *s, void *buf, uint64_t *off,
			struct ram_why *why)
{
	ssize_t n;

	if (s->at >= s->size || !source_find_data(s)) {
		s->at = s->taken = s->size;
		return s->eats ? 0 : check_unchanged(s, why);
	}
	*off = s->at;
	/* To where a chunk ends, so that blocks stay whole. */
	n = min_u64(IMAGE_CHUNK - s->at % IMAGE_CHUNK, s->end - s->at);
	do {
		n = pread(s->fd, buf, n, s->at);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_read(s, errno, why);
	if (n == 0)
		return fail_changed(s, why);
	if (s->eats)
		fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  s->at, n);
	s->at += n;
	s->taken = s->at;
	return n;
}

/* ------------------------------------------------------------------ zstd */

/* More input, if there is none. 0: the file ends here. */
static int64_t fill(struct source *s, struct ram_why *why)
{
	ssize_t n;

	if (s->used < s->have)
		return s->have - s->used;
	do {
		n = read(s->fd, s->input, IMAGE_CHUNK);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_read(s, errno, why);
	s->used = 0;
	s->have = n;
	s->taken += n;
	return n;
}

static int64_t fail_zst(struct source *s, size_t code, struct ram_why *why)
{
	if (s->at == 0 && !s->within)
		return image_fail(why, -EINVAL, s->path,
				  "its name ends in .zst, and it is no file of "
				  "zstd");
	return image_fail(why, -EINVAL, s->path, "is damaged: %s",
			  ZSTD_getErrorName(code));
}

static int64_t end_zst(struct source *s, struct ram_why *why)
{
	if (s->within)
		return image_fail(why, -EINVAL, s->path,
				  "ends in the middle; it has been cut off");
	if (s->at == 0)
		return image_fail(why, -EINVAL, s->path,
				  "stands for nothing; an image has at least "
				  "one byte");
	return check_unchanged(s, why);
}

static int64_t next_zst(struct source *s, void *buf, uint64_t *off,
			struct ram_why *why)
{
	ZSTD_outBuffer out = {buf, IMAGE_CHUNK, 0};
	ZSTD_inBuffer in;
	int64_t n = 1;
	size_t code;

	*off = s->at;
	while (out.pos < out.size) {
		n = fill(s, why);
		if (n <= 0)
			break;
		in = (ZSTD_inBuffer){s->input, s->have, s->used};
		code = ZSTD_decompressStream(s->zst, &out, &in);
		if (ZSTD_isError(code))
			return fail_zst(s, code, why);
		s->used = in.pos;
		s->within = code != 0;
	}
	/* What it keeps back comes without more input. */
	while (n == 0 && s->within && out.pos < out.size) {
		size_t before = out.pos;

		in = (ZSTD_inBuffer){s->input, 0, 0};
		code = ZSTD_decompressStream(s->zst, &out, &in);
		if (ZSTD_isError(code))
			return fail_zst(s, code, why);
		s->within = code != 0;
		if (out.pos == before)
			break;
	}
	if (n < 0)
		return n;
	s->at += out.pos;
	if (out.pos == 0)
		return end_zst(s, why);
	return out.pos;
}

int64_t source_next(struct source *s, void *buf, uint64_t *off,
		    struct ram_why *why)
{
	return s->zst ? next_zst(s, buf, off, why) : next_raw(s, buf, off, why);
}
