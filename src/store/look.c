/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at a pool that nobody has open: ram_pool_look(). What would be found by
 * opening it, without writing anything, wherever it lies. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "owner.h"
#include "walk.h"

struct look {
	struct ram_scrub *result;
	char **names;
	uint64_t count, room;
};

static int open_file(struct backing *b, struct ram_why *why)
{
	int dir = open(b->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int error;

	b->fd = dir < 0 ? -1
			: openat(dir, BACKING_FILE,
				 O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	error = errno;
	if (dir >= 0)
		close(dir);
	if (b->fd < 0)
		return why_set(why, -error, "%s%s: %s", b->path,
			       dir < 0 ? "" : "/" BACKING_FILE,
			       strerror(error));
	if (fstat(b->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return why_set(why, -EINVAL,
			       "%s/" BACKING_FILE ": not a plain file",
			       b->path);
	if (flock(b->fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	return why_set(why, -EBUSY,
		       "%s: process %d has this pool open; ask it, or look at "
		       "a copy",
		       b->path, (int)owner_of(b->fd));
}

static int map_file(struct ram_pool *pool, uint64_t blocks, struct ram_why *why)
{
	struct backing *b = &pool->backing;
	void *base = mmap(NULL, blocks << BLOCK_SHIFT, PROT_READ,
			  MAP_SHARED | MAP_NORESERVE, b->fd, 0);

	if (base == MAP_FAILED)
		return why_set(why, -ENOMEM,
			       "%s: cannot map the pool of %llu bytes", b->path,
			       (unsigned long long)blocks << BLOCK_SHIFT);
	b->base = base;
	b->blocks = blocks;
	pool->meta = calloc(blocks, sizeof(*pool->meta));
	return pool->meta ? 0
			  : why_set(why, -ENOMEM,
				    "%s: no memory to count %llu blocks",
				    b->path, (unsigned long long)blocks);
}

/* A name, for what is there twice. */
static int note_name(struct look *l, const struct layout_slot *image)
{
	char **list = l->names;

	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		list = realloc(list, l->room * sizeof(*list));
		if (!list)
			return -ENOMEM;
		l->names = list;
	}
	list[l->count] = strndup(image->name, image->name_len);
	return list[l->count++] ? 0 : -ENOMEM;
}

/* Those that are not whole would be dropped. */
static int look_at_disk(struct walk *w, uint64_t number,
			const struct layout_slot *image, void *arg)
{
	struct look *l = arg;
	uint64_t fresh;
	int error = note_name(l, image);

	(void)number;
	if (error || image->state != RAM_WHOLE)
		return error;
	l->result->disks++;
	walk_disk(w, image, &fresh);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void look_at_names(struct walk *w, struct look *l)
{
	uint64_t i;

	if (l->count > 1)
		qsort(l->names, l->count, sizeof(*l->names), compare);
	for (i = 1; i < l->count; i++) {
		if (strcmp(l->names[i - 1], l->names[i]) == 0)
			walk_fault(w, l->names[i], "is there twice");
	}
}

static int look_at_all(struct ram_pool *pool, struct ram_scrub *result,
		       struct ram_why *why)
{
	const struct layout_super *super = pool_block(pool, BLOCK_SUPER);
	struct look l = {.result = result};
	struct ram_why faults;
	struct walk w = {
		.pool = pool,
		.meta = pool->meta,
		.blocks = pool->backing.blocks,
		.why = &faults,
	};
	uint64_t i;
	int error;

	faults.text[0] = 0;
	error = walk_slots(&w, super->slots_root, look_at_disk, &l);
	look_at_names(&w, &l);
	for (i = 0; i < l.count; i++)
		free(l.names[i]);
	free(l.names);
	result->done = result->disks;
	result->bytes = w.used << BLOCK_SHIFT;
	if (error)
		return why_set(why, error, "no memory for the list of disks");
	if (w.faults == 0)
		return 0;
	return why_set(why, -EINVAL, "%s: the pool is damaged (%.800s)",
		       pool->backing.path, faults.text);
}

int ram_pool_look(const char *path, struct ram_scrub *result,
		  struct ram_why *why)
{
	struct ram_pool *pool = aligned_alloc(64, sizeof(*pool));
	uint64_t blocks;
	int error;

	memset(result, 0, sizeof(*result));
	if (!pool)
		return why_set(why, -ENOMEM, "no memory to look at a pool");
	memset(pool, 0, sizeof(*pool));
	pool->backing.path = path;
	pool->backing.fd = pool->backing.dir = -1;
	error = open_file(&pool->backing, why);
	if (!error)
		error = pool_super_read(&pool->backing, &blocks, why);
	if (!error)
		error = map_file(pool, blocks, why);
	if (!error)
		error = look_at_all(pool, result, why);
	backing_close(&pool->backing);
	free(pool->meta);
	free(pool);
	return error;
}
