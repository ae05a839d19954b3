/* SPDX-License-Identifier: BSD-3-Clause */
/* Files as disks, and disks as files: the only header of this room that others
 * see. A file is raw, byte for byte, and sparse where the disk has holes; or zstd's
 * if its name ends in .zst. All functions block, outside every epoch; they print
 * nothing. Failures are negative errno values, and why is one line for a person. */
#ifndef NBDRAM_IMAGE_H
#define NBDRAM_IMAGE_H

#include "store.h"

/* Fill a disk that is new, that nobody else sees yet and that holds nothing, from a
 * file. It grows as it has to, to at most `most` bytes (0: to any size), and never
 * shrinks; *size is how many bytes the file stands for. Blocks of zeroes stay holes.
 * progress is told bytes of the file. After a failure the disk is of no use.
 * -EFBIG      the file is larger than `most`
 * -EINVAL     no regular file, empty, damaged, cut off, or changed meanwhile
 * -ENOSPC     the pool has no memory, or the disk's quota allows no more
 * -ECANCELED  progress said so
 * -ENOMEM, and what the system calls gave */
int image_load(const char *path, struct ram_disk *disk,
	       struct ram_thread *thread, uint64_t most, ram_progress *progress,
	       void *arg, uint64_t *size, struct ram_why *why);

/* Whether a disk can be loaded from a file of that name behind: what zstd has
 * compressed can only be read from its beginning. */
bool image_lazy_can(const char *path);

/* As image_load(), but only where the file has holes is known afterwards; all else
 * is not yet fetched (see store.h), and image_fetch_read() reads it. Takes little
 * time. -ENAMETOOLONG: its path cannot be remembered. */
int image_lazy(const char *path, struct ram_disk *disk,
	       struct ram_thread *thread, uint64_t most, ram_progress *progress,
	       void *arg, uint64_t *size, struct ram_why *why);

/* The file that is the source (see ram_disk_source()) of such a disk, if it is there
 * and the same as it was: not of another size, or written to, or another file by that
 * name. -EINVAL: it is not; -ENOMEM, and what the system calls gave. */
struct image_fetch;
int image_fetch_open(const void *source, uint32_t len,
		     struct image_fetch **fetch, struct ram_why *why);
void image_fetch_close(struct image_fetch *fetch); /* NULL is fine */
const char *image_fetch_path(const struct image_fetch *fetch);

/* Bytes of it, zeroes behind its end. -EINVAL: it has changed, and the bytes are of no
 * use; or what reading gave. */
int image_fetch_read(struct image_fetch *fetch, void *buf, uint64_t len,
		     uint64_t off, struct ram_why *why);

/* The path of that file; false: what is noted is none of ours. And whether it is that
 * one. */
bool image_source_path(const void *source, uint32_t len, char *path,
		       size_t size);
bool image_source_is(const void *source, uint32_t len, const char *path);

/* A file system for a new disk, made by mkfs.NAME (mkswap for "swap"). */
struct image_format {
	const char *name;  /* a word without / */
	const char *label; /* NULL: none */
	uint64_t
		block; /* bytes of its blocks, or clusters; 0: as it sees fit */
	const char *files; /* the folder that is copied into it; NULL: none */
};

/* Whether the program is there, and can be told all that. -ENOENT, -EOPNOTSUPP,
 * -ENOMEM. */
int image_format_check(const struct image_format *f, struct ram_why *why);

/* Make it on a disk that is new, that nobody else sees yet and that holds nothing:
 * the program writes to a file in memory of the disk's size, of which the data is
 * taken over. It has a minute, and at most `most` bytes (what cannot be had in the
 * pool it need not write). progress is asked often, told bytes that are taken over.
 * Whatever happens, nothing of the program is left.
 * -ENOENT, -EOPNOTSUPP  as above
 * -EIO        it failed; why has its own words
 * -ETIMEDOUT  it did not end
 * -ENOSPC     the pool has not got the memory for what it has written
 * -ECANCELED  progress said so
 * -ENOMEM, and what the system calls gave */
int image_format(const struct image_format *f, struct ram_disk *disk,
		 struct ram_thread *thread, uint64_t most,
		 ram_progress *progress, void *arg, struct ram_why *why);

#define IMAGE_UNLESS_SAME 1u /* leave a file alone that holds just this */

struct image_saved {
	uint64_t bytes; /* written to the file */
	bool same;	/* it held just this: it was left alone */
};

/* Write a disk that does not change meanwhile to a file: beside it first, as
 * path.tmp, and in its place when all of it is safe; whatever happens, path is the
 * old file or the new one. A file that is replaced leaves its mode and owner to the
 * new one; else only we may read it. Where the file system can share what two files
 * have in common (btrfs, xfs), the new one begins as a copy of a raw old one, and only
 * blocks that differ are written: by comparing them, so that whoever has written the old
 * one, it comes out right, and the pool need not hold what was saved last. progress
 * is told bytes of data.
 * -EBUSY      another save to this file is under way
 * -EINVAL     a folder or a device is there
 * -ENOSPC     the file system has no room
 * -ECANCELED  progress said so
 * -ENOMEM, and what the system calls gave */
int image_save(struct ram_disk *disk, struct ram_thread *thread,
	       const char *path, unsigned flags, ram_progress *progress,
	       void *arg, struct image_saved *saved, struct ram_why *why);

#endif
