/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of which disks get their data behind: see image.h. */
#include "lazy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "image.h"
#include "source.h"

/* So long marking waits for memory that is on its way, and how often it looks. */
#define WAIT_MSEC 10000u
#define LOOK_MSEC 200u

#define HEAD "nbdram-image 1\n"

/* ------------------------------------------------------------------ names */

int lazy_write(const struct lazy_name *name, char bytes[RAM_SOURCE_MAX])
{
	int n = snprintf(bytes, RAM_SOURCE_MAX,
			 HEAD "%" PRIu64 " %" PRIu64 " %" PRId64 " %ld\n%s",
			 name->size, name->inode, name->sec, name->nsec,
			 name->path);

	/* What has been cut would be the name of another file. */
	return n < (int)RAM_SOURCE_MAX ? n : -ENAMETOOLONG;
}

bool lazy_read(const void *bytes, uint32_t len, struct lazy_name *name)
{
	char text[RAM_SOURCE_MAX + 1];
	int used = 0;

	if (len > RAM_SOURCE_MAX || memchr(bytes, 0, len))
		return false;
	memcpy(text, bytes, len);
	text[len] = 0;
	if (strncmp(text, HEAD, strlen(HEAD)) != 0 ||
	    sscanf(text + strlen(HEAD),
		   "%" SCNu64 " %" SCNu64 " %" SCNd64 " %ld%n", &name->size,
		   &name->inode, &name->sec, &name->nsec, &used) != 4)
		return false;
	used += strlen(HEAD);
	if (text[used] != '\n' || text[used + 1] != '/')
		return false;
	strcpy(name->path, text + used + 1);
	return true;
}

const char *lazy_differs(const struct lazy_name *name, const struct stat *st)
{
	if ((uint64_t)st->st_size < name->size)
		return "is shorter than it was";
	if ((uint64_t)st->st_size > name->size)
		return "is longer than it was";
	if (st->st_ino != name->inode)
		return "is another file than it was";
	if (st->st_mtim.tv_sec != name->sec ||
	    st->st_mtim.tv_nsec != name->nsec)
		return "has been written to since";
	return NULL;
}

static int name_of(const struct source *source, struct lazy_name *name,
		   struct ram_why *why)
{
	/* Where it is, whatever link and folder led there: neither may be the
	 * same after a restart. */
	if (!realpath(source->path, name->path))
		return image_fail(why, -errno, source->path,
				  "cannot be read: %s", strerror(errno));
	name->size = source->st.st_size;
	name->inode = source->st.st_ino;
	name->sec = source->st.st_mtim.tv_sec;
	name->nsec = source->st.st_mtim.tv_nsec;
	return 0;
}

/* ---------------------------------------------------------------- beginning */

struct beginning {
	struct source *source;
	struct ram_disk *disk;
	struct ram_thread *thread;
	ram_progress *progress;
	void *arg;
	struct ram_why *why;
};

static int no_room(const struct beginning *b)
{
	return image_fail(b->why, -ENOSPC, b->source->path,
			  "cannot be loaded: the pool has not got the memory, "
			  "or the disk's quota is used up");
}

static bool stopped(const struct beginning *b)
{
	return b->progress &&
	       b->progress(b->arg, b->source->at, b->source->size);
}

static int fail(const struct beginning *b, int error)
{
	if (error == -ENOSPC || error == -EAGAIN)
		return no_room(b);
	if (error == -ECANCELED)
		return image_fail(b->why, error, b->source->path,
				  "was not loaded: it was given up");
	return image_fail(b->why, error, b->source->path,
			  "cannot be loaded: %s", strerror(-error));
}

static int mark_run(const struct beginning *b, uint64_t len, uint64_t off)
{
	unsigned waited = 0;
	int error;

	do {
		error = ram_disk_unfetched(b->disk, b->thread, &len, &off);
		if (error == -EAGAIN &&
		    ram_wait(b->thread, LOOK_MSEC) == -ETIMEDOUT)
			waited += LOOK_MSEC;
		if (error == -EAGAIN && stopped(b))
			error = -ECANCELED;
	} while (error == -EAGAIN && waited < WAIT_MSEC);
	if (error)
		ram_wait_cancel(b->thread);
	return error ? fail(b, error) : 0;
}

/* All that is no hole of the file: it is to come. */
static int mark(const struct beginning *b)
{
	struct source *s = b->source;
	uint64_t off, n;
	int error = 0;

	while (!error && s->at < s->size && source_find_data(s)) {
		if (stopped(b))
			return fail(b, -ECANCELED);
		off = round_down(s->at, RAM_BLOCK);
		n = min_u64(round_up(s->end, RAM_BLOCK), s->size) - off;
		error = mark_run(b, n, off);
		s->at = s->end;
	}
	s->at = s->size;
	return error;
}

static int begin(const struct beginning *b, uint64_t most)
{
	struct source *s = b->source;
	char bytes[RAM_SOURCE_MAX];
	struct lazy_name name;
	int error, len = 0;

	if (most > 0 && s->size > most)
		return image_fail(b->why, -EFBIG, s->path,
				  "is larger than the disk, which has %" PRIu64
				  " bytes; give it a larger size",
				  most);
	error = name_of(s, &name, b->why);
	if (error)
		return error;
	len = lazy_write(&name, bytes);
	if (len < 0)
		return image_fail(b->why, len, s->path,
				  "cannot be loaded behind: its path is too "
				  "long to be remembered; leave load = lazy "
				  "out");
	if (s->size > ram_disk_size(b->disk))
		error = ram_disk_resize(b->disk, s->size);
	if (!error)
		error = ram_disk_source(b->disk, bytes, len);
	if (error)
		return fail(b, error);
	return mark(b);
}

int image_lazy(const char *path, struct ram_disk *disk,
	       struct ram_thread *thread, uint64_t most, ram_progress *progress,
	       void *arg, uint64_t *size, struct ram_why *why)
{
	struct source source;
	struct beginning b = {
		.source = &source,
		.disk = disk,
		.thread = thread,
		.progress = progress,
		.arg = arg,
		.why = why,
	};
	int error = source_open(&source, path, why);

	*size = source.size;
	if (!error)
		error = begin(&b, most);
	source_close(&source);
	return error;
}

bool image_lazy_can(const char *path)
{
	return !image_is_zst(path);
}

/* ----------------------------------------------------------------- fetching */

struct image_fetch {
	struct lazy_name name;
	struct source source;
};

static int fail_differs(const struct lazy_name *name, const char *how,
			struct ram_why *why)
{
	return image_fail(why, -EINVAL, name->path, "%s", how);
}

int image_fetch_open(const void *bytes, uint32_t len,
		     struct image_fetch **result, struct ram_why *why)
{
	struct image_fetch *f = calloc(1, sizeof(*f));
	const char *how;
	int error;

	if (!f)
		return image_fail(why, -ENOMEM, "image",
				  "no memory to read it");
	if (!lazy_read(bytes, len, &f->name)) {
		free(f);
		return image_fail(why, -EINVAL, "image",
				  "which file it was is noted in a way that "
				  "this release does not know");
	}
	error = source_open(&f->source, f->name.path, why);
	how = error ? NULL : lazy_differs(&f->name, &f->source.st);
	if (how)
		error = fail_differs(&f->name, how, why);
	if (!error) {
		*result = f;
		return 0;
	}
	image_fetch_close(f);
	return error;
}

void image_fetch_close(struct image_fetch *f)
{
	if (!f)
		return;
	source_close(&f->source);
	free(f);
}

const char *image_fetch_path(const struct image_fetch *f)
{
	return f->name.path;
}

int image_fetch_read(struct image_fetch *f, void *buf, uint64_t len,
		     uint64_t off, struct ram_why *why)
{
	const char *path = f->name.path, *how;
	uint8_t *to = buf;
	struct stat now;
	uint64_t done = 0;
	ssize_t n = 1;

	while (done < len && off + done < f->name.size && n > 0) {
		n = pread(f->source.fd, to + done,
			  min_u64(len - done, IMAGE_CHUNK), off + done);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			done += n;
	}
	if (n < 0)
		return image_fail(why, -errno, path, "cannot be read: %s",
				  strerror(errno));
	/* Afterwards: what was read is of the file as it was meant. */
	if (fstat(f->source.fd, &now) < 0)
		return image_fail(why, -errno, path, "cannot be read: %s",
				  strerror(errno));
	how = lazy_differs(&f->name, &now);
	if (how || (done < len && off + done < f->name.size))
		return fail_differs(&f->name, how ? how : "ends too early",
				    why);
	memset(to + done, 0, len - done);
	return 0;
}

bool image_source_path(const void *bytes, uint32_t len, char *path, size_t size)
{
	struct lazy_name name;

	if (!lazy_read(bytes, len, &name) || strlen(name.path) >= size)
		return false;
	strcpy(path, name.path);
	return true;
}

bool image_source_is(const void *bytes, uint32_t len, const char *path)
{
	struct lazy_name name;
	char real[PATH_MAX];

	return lazy_read(bytes, len, &name) && realpath(path, real) &&
	       strcmp(real, name.path) == 0;
}
