/* SPDX-License-Identifier: BSD-3-Clause */
/* See target.h. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "check.h"
#include "cleanup.h"

/* Fast enough for a network, and no slower than most disks. */
#define LEVEL 3

static int fail_write(struct target *t, int error, struct ram_why *why)
{
	if (error == ENOSPC || error == EDQUOT)
		return image_fail(why, -ENOSPC, t->path,
				  "no room is left in its file system; what "
				  "was there before is as it was");
	return image_fail(why, -error, t->path, "cannot be written: %s",
			  strerror(error));
}

/* ------------------------------------------------------------------ opening */

/* What is there may be replaced if it is a file. */
static int look_at_old(struct target *t, struct ram_why *why)
{
	if (lstat(t->path, &t->st) < 0)
		return errno == ENOENT ? 0 : fail_write(t, errno, why);
	t->replaces = true;
	if (S_ISDIR(t->st.st_mode))
		return image_fail(why, -EINVAL, t->path,
				  "is a folder; the name of a file is wanted");
	if (!S_ISREG(t->st.st_mode))
		return image_fail(why, -EINVAL, t->path,
				  "is there, and is no regular file; name "
				  "another");
	return 0;
}

static int open_folder(struct target *t, struct ram_why *why)
{
	CLEANUP_FREE char *copy = strdup(t->path);

	if (!copy || asprintf(&t->tmp, "%s.tmp", t->path) < 0) {
		t->tmp = NULL;
		return image_fail(why, -ENOMEM, t->path, "no memory");
	}
	t->folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t->folder < 0 ? fail_write(t, errno, why) : 0;
}

/* One that a save has left that was killed is used again. */
static int open_tmp(struct target *t, struct ram_why *why)
{
	struct stat st, now;

	t->fd = open(t->tmp,
		     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
			     O_NOCTTY,
		     0600);
	if (t->fd < 0)
		return image_fail(why, -errno, t->tmp, "cannot be made: %s%s",
				  strerror(errno),
				  errno == EROFS ? " (for a service: "
						   "ReadWritePaths= of its "
						   "unit says where it may "
						   "write)"
						 : "");
	if (fstat(t->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return image_fail(why, -EINVAL, t->tmp,
				  "is in the way, and not what a save has "
				  "left; remove it");
	/* Whoever had it before may just have put it in its place. */
	if (flock(t->fd, LOCK_EX | LOCK_NB) < 0 || lstat(t->tmp, &now) < 0 ||
	    now.st_ino != st.st_ino || now.st_dev != st.st_dev)
		return image_fail(why, -EBUSY, t->path,
				  "another save to this file is under way");
	t->made = true;
	if (ftruncate(t->fd, 0) < 0 || fchmod(t->fd, 0600) < 0)
		return fail_write(t, errno, why);
	return 0;
}

/* Better now than after minutes. How small zstd makes it nobody knows. */
static int look_for_room(struct target *t, uint64_t data, struct ram_why *why)
{
	struct statvfs fs;

	if (fstatvfs(t->fd, &fs) < 0)
		return 0;
	if ((uint64_t)fs.f_bavail * fs.f_frsize >= data || t->zst)
		return 0;
	return image_fail(why, -ENOSPC, t->path,
			  "about %" PRIu64 " MiB are needed, and its file "
			  "system has %" PRIu64,
			  (data >> 20) + 1,
			  ((uint64_t)fs.f_bavail * fs.f_frsize) >> 20);
}

static int open_zst(struct target *t, struct ram_why *why)
{
	t->zst = ZSTD_createCCtx();
	t->output = malloc(IMAGE_CHUNK);
	if (!t->zst || !t->output)
		return image_fail(why, -ENOMEM, t->path, "no memory");
	ZSTD_CCtx_setParameter(t->zst, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(t->zst, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setPledgedSrcSize(t->zst, t->size);
	return 0;
}

/* A file that shares what the old one has, if there is a raw one and its file system
 * can do that. */
static void share_old(struct target *t)
{
	int old = t->replaces && !t->zst
			  ? open(t->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
						  O_NONBLOCK | O_NOCTTY)
			  : -1;

	if (old < 0)
		return;
	t->there = malloc(IMAGE_CHUNK);
	t->compares = t->there && ioctl(t->fd, FICLONE, old) == 0;
	close(old);
}

int target_look(struct target *t, const char *path, uint64_t size,
		struct ram_why *why)
{
	memset(t, 0, sizeof(*t));
	t->path = path;
	t->size = size;
	t->folder = -1;
	t->looks = t->compares = true;
	t->fd = image_is_zst(path)
			? -1
			: open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
					     O_NONBLOCK | O_NOCTTY);
	if (t->fd < 0 || fstat(t->fd, &t->st) < 0 || !S_ISREG(t->st.st_mode) ||
	    (uint64_t)t->st.st_size != size)
		return 1;
	t->there = malloc(IMAGE_CHUNK);
	return t->there ? 0 : image_fail(why, -ENOMEM, path, "no memory");
}

int target_open(struct target *t, const char *path, uint64_t size,
		uint64_t data, struct ram_why *why)
{
	int error;

	memset(t, 0, sizeof(*t));
	t->path = path;
	t->size = size;
	t->fd = t->folder = -1;
	error = look_at_old(t, why);
	if (!error)
		error = open_folder(t, why);
	if (!error)
		error = open_tmp(t, why);
	if (!error && image_is_zst(path))
		error = open_zst(t, why);
	if (!error)
		share_old(t);
	/* What is shared takes no room; how much that is nobody knows before. */
	if (!error && !t->compares)
		error = look_for_room(t, data, why);
	if (!error && !t->zst && ftruncate(t->fd, size) < 0)
		error = fail_write(t, errno, why);
	return error;
}

void target_close(struct target *t)
{
	if (t->made)
		unlink(t->tmp);
	ZSTD_freeCCtx(t->zst);
	free(t->output);
	free(t->there);
	free(t->tmp);
	if (t->fd >= 0)
		close(t->fd);
	if (t->folder >= 0)
		close(t->folder);
}

/* ------------------------------------------------------------------ writing */

static int write_raw(struct target *t, const uint8_t *data, size_t len,
		     off_t at, struct ram_why *why)
{
	ssize_t n;

	while (len > 0) {
		n = at < 0 ? write(t->fd, data, len)
			   : pwrite(t->fd, data, len, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_write(t, n < 0 ? errno : EIO, why);
		data += n;
		len -= n;
		at += at < 0 ? 0 : n;
		t->written += n;
	}
	return 0;
}

/* What the file has there, zeroes behind its end, into t->there. */
static int read_there(struct target *t, size_t len, off_t at,
		      struct ram_why *why)
{
	size_t have = 0;
	ssize_t n = 1;

	while (have < len && n != 0) {
		n = pread(t->fd, t->there + have, len - have, at + have);
		if (n < 0 && errno != EINTR)
			return image_fail(why, -errno, t->path,
					  "what is there cannot be read: %s",
					  strerror(errno));
		if (n > 0)
			have += n;
	}
	memset(t->there + have, 0, len - have);
	return 0;
}

/* At most IMAGE_CHUNK bytes: where they differ, a block at a time. */
static int put_different(struct target *t, const uint8_t *data, size_t len,
			 struct ram_why *why)
{
	size_t begin = 0, at, n;
	int error = read_there(t, len, t->at, why);

	if (error || memcmp(data, t->there, len) == 0)
		return error;
	t->differs = true;
	if (t->looks)
		return 0;
	for (at = 0; at < len && !error; at += n) {
		n = min_u64(RAM_BLOCK, len - at);
		if (memcmp(data + at, t->there + at, n) != 0)
			continue;
		error = write_raw(t, data + begin, at - begin, t->at + begin,
				  why);
		begin = at + n;
	}
	return error ? error
		     : write_raw(t, data + begin, len - begin, t->at + begin,
				 why);
}

/* Whether the file has anything but zeroes between t->at and end. */
static int find_different(struct target *t, uint64_t end, struct ram_why *why)
{
	off_t at = t->at, data;
	size_t n;
	int error = 0;

	while (!error && !t->differs && (uint64_t)at < end) {
		data = lseek(t->fd, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		at = data > at ? data : at;
		if ((uint64_t)at >= end)
			break;
		n = min_u64(IMAGE_CHUNK, end - at);
		error = read_there(t, n, at, why);
		t->differs = *t->there != 0 ||
			     memcmp(t->there, t->there + 1, n - 1) != 0;
		at += n;
	}
	return error;
}

static int put_hole(struct target *t, uint64_t len, struct ram_why *why)
{
	off_t data;

	if (t->looks)
		return find_different(t, t->at + len, why);
	data = lseek(t->fd, t->at, SEEK_DATA);
	if (data < 0 || (uint64_t)data >= t->at + len)
		return 0;
	if (fallocate(t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, t->at,
		      len) < 0)
		return fail_write(t, errno, why);
	t->differs = true;
	return 0;
}

static int compress(struct target *t, const void *data, size_t len, bool end,
		    struct ram_why *why)
{
	ZSTD_inBuffer in = {data, len, 0};
	ZSTD_outBuffer out;
	size_t left;
	int error;

	do {
		out = (ZSTD_outBuffer){t->output, IMAGE_CHUNK, 0};
		left = ZSTD_compressStream2(t->zst, &out, &in,
					    end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return image_fail(why, -EIO, t->path,
					  "cannot be compressed: %s",
					  ZSTD_getErrorName(left));
		error = write_raw(t, t->output, out.pos, -1, why);
	} while (!error && (in.pos < in.size || (end && left > 0)));
	return error;
}

int target_put(struct target *t, const void *data, uint64_t len,
	       struct ram_why *why)
{
	static const uint8_t zeroes[64 << 10];
	uint64_t n;
	int error = 0;

	if (!t->zst) {
		if (t->compares)
			error = data ? put_different(t, data, len, why)
				     : put_hole(t, len, why);
		else if (data)
			error = write_raw(t, data, len, t->at, why);
		t->at += len;
		return error;
	}
	for (; len > 0 && !error; len -= n) {
		n = data ? len : min_u64(len, sizeof(zeroes));
		error = compress(t, data ? data : zeroes, n, false, why);
		t->at += n;
	}
	return error;
}

/* ---------------------------------------------------------------- finishing */

int target_finish(struct target *t, struct ram_why *why)
{
	int error = t->zst ? compress(t, NULL, 0, true, why) : 0;

	if (error)
		return error;
	if (t->replaces) {
		/* Owner first: that may take rights away. Not everybody may. */
		if (fchown(t->fd, t->st.st_uid, t->st.st_gid) < 0) {
			/* It stays ours, as readable as it was. */
		}
		fchmod(t->fd, t->st.st_mode & 0777);
	}
	if (fsync(t->fd) < 0 || rename(t->tmp, t->path) < 0)
		return fail_write(t, errno, why);
	t->made = false;
	if (fsync(t->folder) < 0)
		return fail_write(t, errno, why);
	return 0;
}
