/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory behind a pool. See backing.h. */
#include "backing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check.h"
#include "fault.h"
#include "owner.h"
#include "settings.h"
#include "why.h"

/* A file gets its own name only when it is a whole pool, so that a kill while
 * it is being made leaves nothing that looks like a damaged one. */
#define BACKING_NEW "pool.new"

#define GROUP_BYTES (RUN_BLOCKS * (uint64_t)BLOCK_SIZE)

static int open_anonymous(struct backing *b, struct ram_why *why)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

	if (b->huge)
		flags |= MFD_HUGETLB | MFD_HUGE_2MB;
	b->fd = memfd_create("nbdram-pool", flags);
	if (b->fd < 0 && b->huge)
		return why_set(why, -EOPNOTSUPP,
			       "hugepages=2M: this system has no huge pages of "
			       "2 MiB (%s); leave hugepages out",
			       strerror(errno));
	if (b->fd < 0)
		return why_set(why, -errno, "cannot make a memfd: %s",
			       strerror(errno));
	b->fresh = true;
	return 0;
}

/* The folder itself: ours alone, and no link. */
static int open_folder(struct backing *b, struct ram_why *why)
{
	struct stat st;
	char *name, *end;
	int error;

	b->made_folder = mkdir(b->path, 0700) == 0;
	if (!b->made_folder && errno != EEXIST)
		return why_set(why, -errno,
			       "%s: cannot make the pool folder: %s", b->path,
			       strerror(errno));
	/* A link with a slash behind it would be followed all the same. */
	name = strdup(b->path);
	if (!name)
		return why_set(why, -ENOMEM, "%s: no memory", b->path);
	for (end = name + strlen(name); end > name + 1 && end[-1] == '/';)
		*--end = 0;
	b->dir = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	free(name);
	errno = error;
	if (b->dir < 0) {
		error = errno;
		if (error == ENOTDIR || error == ELOOP)
			return why_set(why, -EACCES,
				       "%s: not a folder (links are not "
				       "followed); give the folder itself",
				       b->path);
		return why_set(why, -error,
			       "%s: cannot open the pool folder: %s", b->path,
			       strerror(error));
	}
	if (fstat(b->dir, &st) < 0)
		return why_set(why, -errno, "%s: %s", b->path, strerror(errno));
	if (st.st_uid != geteuid())
		return why_set(why, -EACCES,
			       "%s: the pool folder belongs to user %u, not to "
			       "us (%u); chown it or take another",
			       b->path, (unsigned)st.st_uid,
			       (unsigned)geteuid());
	if ((st.st_mode & 07777) != 0700)
		return why_set(why, -EACCES,
			       "%s: the pool folder has mode %04o; others may "
			       "not get at it: chmod 0700",
			       b->path, (unsigned)st.st_mode & 07777);
	return 0;
}

const char *backing_name(const struct backing *b)
{
	return b->path ? b->path : "memory";
}

static int busy(const struct backing *b, struct ram_why *why)
{
	pid_t pid = owner_of(b->fd >= 0 ? b->fd : b->dir);
	char number[32] = "";

	if (pid)
		snprintf(number, sizeof(number), " (%d)", (int)pid);
	return why_set(why, -EBUSY,
		       "%s: another process%s owns this pool; stop it or take "
		       "another folder",
		       backing_name(b), number);
}

/* What the folder holds must be a plain file of ours. */
static int check_file(const struct backing *b, struct ram_why *why)
{
	struct stat st;

	if (fstat(b->fd, &st) < 0)
		return why_set(why, -errno, "%s/" BACKING_FILE ": %s", b->path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return why_set(why, -EINVAL,
			       "%s/" BACKING_FILE ": not a plain file; move it "
			       "away",
			       b->path);
	if (st.st_uid != geteuid() || st.st_nlink > 1)
		return why_set(why, -EACCES,
			       "%s/" BACKING_FILE ": belongs to another user "
			       "or has another name too; move it away",
			       b->path);
	return 0;
}

static int open_existing(struct backing *b, struct ram_why *why)
{
	int error;

	b->fd = openat(b->dir, BACKING_FILE,
		       O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (b->fd < 0) {
		error = errno;
		if (error == ENOENT)
			return -ENOENT;
		if (error == ELOOP)
			return why_set(why, -EACCES,
				       "%s/" BACKING_FILE
				       ": is a link; move it away",
				       b->path);
		if (error == EISDIR || error == ENXIO)
			return why_set(why, -EINVAL,
				       "%s/" BACKING_FILE
				       ": not a plain file; move it away",
				       b->path);
		return why_set(why, -error, "%s/" BACKING_FILE ": %s", b->path,
			       strerror(error));
	}
	error = check_file(b, why);
	if (error)
		return error;
	if (flock(b->fd, LOCK_EX | LOCK_NB) < 0)
		return busy(b, why);
	return 0;
}

/* What a kill left half made goes away: we hold the folder's lock. */
static int open_new(struct backing *b, struct ram_why *why)
{
	if (unlinkat(b->dir, BACKING_NEW, 0) < 0 && errno != ENOENT)
		return why_set(why, -errno,
			       "%s/" BACKING_NEW ": cannot remove it: %s",
			       b->path, strerror(errno));
	b->fd = openat(b->dir, BACKING_NEW,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (b->fd < 0)
		return why_set(why, -errno,
			       "%s/" BACKING_NEW ": cannot make it: %s",
			       b->path, strerror(errno));
	b->fresh = true;
	if (flock(b->fd, LOCK_EX | LOCK_NB) < 0)
		return busy(b, why);
	return 0;
}

/* What another had open before. Its lock came with it, and only so can it be
 * locked; what else may be wrong shows when it is read. */
static int open_given(struct backing *b, int fd, struct ram_why *why)
{
	struct statfs fs;
	struct stat st;

	b->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (b->fd < 0 || fstat(b->fd, &st) < 0 || fstatfs(b->fd, &fs) < 0)
		return why_set(why, -errno,
			       "%s: a pool that was handed over "
			       "cannot be used: %s",
			       backing_name(b), strerror(errno));
	if (!S_ISREG(st.st_mode))
		return why_set(why, -EINVAL,
			       "%s: what was handed over is no pool",
			       backing_name(b));
	if (b->huge != (fs.f_type == HUGETLBFS_MAGIC))
		return why_set(why, -EINVAL,
			       "%s: the pool that was handed over has %s huge "
			       "pages of 2 MiB; leave hugepages as it was",
			       backing_name(b), b->huge ? "no" : "got");
	return flock(b->fd, LOCK_EX | LOCK_NB) < 0 ? busy(b, why) : 0;
}

int backing_open(struct backing *b, const struct ram_pool_config *config,
		 struct ram_why *why)
{
	int error;

	memset(b, 0, sizeof(*b));
	b->fd = b->dir = -1;
	b->path = config->path;
	b->huge = config->hugepages == RAM_PAGES_2M;
	b->thp = config->hugepages == RAM_PAGES_THP;
	b->lock = config->lock;
	if (config->given) {
		error = open_given(b, config->fd, why);
		if (error)
			goto fail;
		return 0;
	}
	if (!b->path)
		return open_anonymous(b, why);

	error = open_folder(b, why);
	if (!error)
		error = settings_folder(b, config->memory_only, why);
	if (error)
		goto fail;
	/* The folder's lock is held while a pool is made in it or opened; the
	 * file's as long as the pool is ours. */
	if (flock(b->dir, LOCK_EX | LOCK_NB) < 0) {
		error = busy(b, why);
		goto fail;
	}
	error = open_existing(b, why);
	if (error == -ENOENT)
		error = open_new(b, why);
	if (error)
		goto fail;
	return 0;
fail:
	backing_close(b);
	return error;
}

/* A place for the mapping that begins with a group; NULL: anywhere. */
static void *aligned_place(uint64_t bytes)
{
	uint8_t *at, *place;

	at = mmap(NULL, bytes + GROUP_BYTES, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	place = at + (round_up((uintptr_t)at, GROUP_BYTES) - (uintptr_t)at);
	if (place > at)
		munmap(at, place - at);
	munmap(place + bytes, at + GROUP_BYTES - place);
	return place;
}

int backing_map(struct backing *b, uint64_t blocks, struct ram_why *why)
{
	uint64_t bytes = blocks << BLOCK_SHIFT;
	void *base, *place = b->thp ? aligned_place(bytes) : NULL;

	base = fault(RAM_FAULT_ALLOC)
		       ? MAP_FAILED
		       : mmap(place, bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE |
				      (place ? MAP_FIXED : 0),
			      b->fd, 0);
	if (base == MAP_FAILED && place)
		munmap(place, bytes);
	if (base == MAP_FAILED)
		return why_set(why, -ENOMEM,
			       "cannot map the pool of %llu bytes; raise the "
			       "limit on address space (ulimit -v) or make it "
			       "smaller",
			       (unsigned long long)bytes);
	b->base = base;
	b->blocks = blocks;
	return 0;
}

int backing_extend(struct backing *b, struct ram_why *why)
{
	uint64_t bytes = b->blocks << BLOCK_SHIFT;

	if (backing_length(b) < bytes && ftruncate(b->fd, bytes) < 0)
		return why_set(why, -errno,
			       "cannot make the pool %llu bytes long: %s",
			       (unsigned long long)bytes, strerror(errno));
	if (!b->path)
		/* Nobody, not even we, can take memory away from under the
		 * mapping: no SIGBUS. */
		fcntl(b->fd, F_ADD_SEALS, F_SEAL_SHRINK);
	return 0;
}

int backing_commit(struct backing *b, struct ram_why *why)
{
	if (b->path && b->fresh &&
	    renameat(b->dir, BACKING_NEW, b->dir, BACKING_FILE) < 0)
		return why_set(why, -errno,
			       "%s/" BACKING_FILE ": cannot put it in place: "
			       "%s",
			       b->path, strerror(errno));
	b->fresh = false;
	if (b->dir >= 0)
		close(b->dir);
	b->dir = -1;
	return 0;
}

void backing_close(struct backing *b)
{
	if (b->base)
		munmap(b->base, b->blocks << BLOCK_SHIFT);
	if (b->fresh && b->dir >= 0 && b->fd >= 0)
		unlinkat(b->dir, BACKING_NEW, 0);
	/* Only while it is empty. */
	if (b->made_folder && (b->fresh || b->fd < 0))
		rmdir(b->path);
	if (b->fd >= 0)
		close(b->fd);
	if (b->dir >= 0)
		close(b->dir);
	b->base = NULL;
	b->fd = b->dir = -1;
}

uint64_t backing_occupied(const struct backing *b)
{
	struct stat st;

	return fstat(b->fd, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

uint64_t backing_length(const struct backing *b)
{
	struct stat st;

	return fstat(b->fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

uint64_t backing_room(const struct backing *b)
{
	struct statfs fs;

	/* A tmpfs without a size limit tells 0 blocks. */
	if (!b->path || fstatfs(b->fd, &fs) < 0 || fs.f_blocks == 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_bsize + backing_occupied(b);
}

/* The kernel makes huge pages of shared memory when they are touched, not for
 * fallocate(). It says so when there is no memory, instead of SIGBUS. */
static int reserve_thp(const struct backing *b, uint64_t block)
{
	void *group = backing_at(b, round_down(block, RUN_BLOCKS));

	while (madvise(group, GROUP_BYTES, MADV_POPULATE_WRITE) < 0) {
		if (errno != EINTR && errno != EAGAIN)
			return errno == ENOMEM ? -ENOMEM : -ENOSPC;
	}
	return 0;
}

int backing_reserve(const struct backing *b, uint64_t block, uint64_t n)
{
	if (fault(RAM_FAULT_BACKING))
		return -ENOSPC;
	if (b->thp)
		return reserve_thp(b, block);
	while (fallocate(b->fd, 0, block << BLOCK_SHIFT, n << BLOCK_SHIFT) <
	       0) {
		if (errno != EINTR)
			return errno == ENOMEM ? -ENOMEM : -ENOSPC;
	}
	return 0;
}

int backing_take(const struct backing *b, uint64_t block, uint64_t n)
{
	int error;

	if (fault(RAM_FAULT_BACKING))
		return -ENOSPC;
	while (madvise(backing_at(b, block), n << BLOCK_SHIFT,
		       MADV_POPULATE_WRITE) < 0) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		if (errno != EINVAL)
			return errno == ENOMEM ? -ENOMEM : -ENOSPC;
		/* Linux before 5.14. */
		error = backing_reserve(b, block, n);
		if (!error)
			backing_populate(b, block, n);
		return error;
	}
	return 0;
}

void backing_populate(const struct backing *b, uint64_t block, uint64_t n)
{
	/* For reading: page cache is mapped in batches then, and in a shared
	 * mapping of tmpfs the entries are writable all the same. */
	madvise(backing_at(b, block), n << BLOCK_SHIFT, MADV_POPULATE_READ);
}

bool backing_held(const struct backing *b, uint64_t block, uint64_t n,
		  unsigned char *held)
{
	return mincore(backing_at(b, block), n << BLOCK_SHIFT, held) == 0;
}

bool backing_has_data(const struct backing *b, uint64_t block)
{
	off_t at = (off_t)(block << BLOCK_SHIFT);

	/* hugetlbfs does not tell; so it gets memory, or has none left. */
	if (b->huge)
		return backing_reserve(b, block, 1) == 0;
	return lseek(b->fd, at, SEEK_DATA) == at;
}

void backing_populate_held(const struct backing *b, uint64_t block, uint64_t n)
{
	unsigned char held[RUN_BLOCKS];
	uint64_t i, run = 0;

	if (b->huge) {
		/* In a group that is in use all is there. */
		backing_populate(b, block, n);
		return;
	}
	if (!backing_held(b, block, n, held))
		return;
	for (i = 0; i <= n; i++) {
		if (i < n && held[i] & 1) {
			run++;
		} else if (run > 0) {
			backing_populate(b, block + i - run, run);
			run = 0;
		}
	}
}

int backing_punch(const struct backing *b, uint64_t block, uint64_t n)
{
	while (fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 block << BLOCK_SHIFT, n << BLOCK_SHIFT) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int backing_write(const struct backing *b, const void *buf, uint64_t block,
		  uint64_t n)
{
	const uint8_t *from = buf;
	uint64_t left = n << BLOCK_SHIFT, at = block << BLOCK_SHIFT;
	ssize_t done;

	if (fault(RAM_FAULT_BACKING))
		return -ENOSPC;
	if (backing_grouped(b)) {
		/* hugetlbfs has no write(2). */
		if (backing_reserve(b, block, n))
			return -ENOSPC;
		memcpy(backing_at(b, block), buf, left);
		return 0;
	}
	while (left > 0) {
		done = pwrite(b->fd, from, left, at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 && errno == ENOMEM ? -ENOMEM : -ENOSPC;
		from += done;
		at += done;
		left -= done;
	}
	return 0;
}

int backing_fill(const struct backing *b, uint64_t block, uint64_t n)
{
	/* Small enough to stay in a processor's cache. */
	static const uint8_t zeroes[16 * BLOCK_SIZE];
	uint64_t here;
	int error = 0;

	for (; n > 0 && !error; n -= here, block += here) {
		here = min_u64(n, sizeof(zeroes) / BLOCK_SIZE);
		error = backing_write(b, zeroes, block, here);
		if (!error)
			backing_populate(b, block, here);
	}
	return error;
}
