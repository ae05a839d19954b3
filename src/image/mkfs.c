/* SPDX-License-Identifier: BSD-3-Clause */
/* A file system on a new disk, by the program that the system has for it. See
 * image.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "image.h"
#include "load.h"
#include "tool.h"

#define MSEC_MOST 60000u
#define ARGUMENTS_MOST 16
#define WORD_MAX 64

/* How a program is told what. Of one that is not here it is not known, and it gets the
 * file alone. */
struct dialect {
	const char *name;
	const char *program;   /* NULL: mkfs.NAME */
	const char *always[3]; /* it asks nothing, and says little */
	const char *label;     /* the option; NULL: there is none */
	const char *block,
		*before; /* the option, and what is before the number */
	unsigned unit;	 /* which counts so many bytes */
	const char *files;
};

static const struct dialect dialects[] = {
	{"ext2", NULL, {"-q", "-F"}, "-L", "-b", "", 1, "-d"},
	{"ext3", NULL, {"-q", "-F"}, "-L", "-b", "", 1, "-d"},
	{"ext4", NULL, {"-q", "-F"}, "-L", "-b", "", 1, "-d"},
	{"xfs", NULL, {"-q", "-f"}, "-L", "-b", "size=", 1, NULL},
	{"btrfs", NULL, {"-q", "-f"}, "-L", "-s", "", 1, "--rootdir"},
	{"vfat", NULL, {NULL}, "-n", "-s", "", 512, NULL},
	{"fat", NULL, {NULL}, "-n", "-s", "", 512, NULL},
	{"msdos", NULL, {NULL}, "-n", "-s", "", 512, NULL},
	{"exfat", NULL, {NULL}, "-L", "-c", "", 1, NULL},
	{"ntfs", NULL, {"-q", "-F", "-f"}, "-L", "-c", "", 1, NULL},
	{"swap", "mkswap", {"-f"}, "-L", "-p", "", 1, NULL},
};

struct format {
	const struct image_format *f;
	const struct dialect *dialect; /* NULL: not known */
	char name[WORD_MAX + 8];       /* of the program */
	char *path;
	int fd;
	uint64_t size, most;
	bool full; /* it has written more than that */
	ram_progress *progress;
	void *arg;
	struct ram_why *why;
};

/* ------------------------------------------------------------- the command */

static int cannot_be_told(struct format *m, const char *what)
{
	return image_fail(m->why, -EOPNOTSUPP, m->name,
			  "cannot be told of %s; leave that out", what);
}

static int find(struct format *m)
{
	const struct image_format *f = m->f;
	const struct dialect *d = NULL;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(dialects); i++) {
		if (strcmp(dialects[i].name, f->name) == 0)
			d = &dialects[i];
	}
	m->dialect = d;
	snprintf(m->name, sizeof(m->name), d && d->program ? "%s" : "mkfs.%s",
		 d && d->program ? d->program : f->name);
	if (strlen(f->name) > WORD_MAX || strchr(f->name, '/'))
		return image_fail(m->why, -ENOENT, m->name,
				  "no program can be called so");
	if (f->label && !(d && d->label))
		return cannot_be_told(m, "a label");
	if (f->block && !(d && d->block))
		return cannot_be_told(m, "the size of blocks (block)");
	/* Some round what is none. */
	if (f->block & (f->block - 1))
		return image_fail(m->why, -EOPNOTSUPP, m->name,
				  "block = %" PRIu64 ": a power of two is "
				  "wanted, such as 4096",
				  f->block);
	if (f->files && !(d && d->files))
		return cannot_be_told(m, "files that are to be in it (files); "
					 "ext4 and btrfs can");
	m->path = tool_find(m->name);
	if (!m->path)
		return image_fail(m->why, -ENOENT, m->name,
				  "there is no such program; install the "
				  "package that has it");
	return 0;
}

int image_format_check(const struct image_format *f, struct ram_why *why)
{
	struct format m = {.f = f, .why = why};
	int error = find(&m);

	free(m.path);
	return error;
}

/* argv[], with room for ARGUMENTS_MOST; number: for the size of blocks. */
static void put_arguments(const struct format *m, const char **argv,
			  char number[WORD_MAX])
{
	const struct image_format *f = m->f;
	const struct dialect *d = m->dialect;
	unsigned n = 0, i;

	argv[n++] = m->path;
	for (i = 0; d && i < ARRAY_SIZE(d->always) && d->always[i]; i++)
		argv[n++] = d->always[i];
	if (f->label) {
		argv[n++] = d->label;
		argv[n++] = f->label;
	}
	if (f->block > 0) {
		argv[n++] = d->block;
		argv[n++] = number;
		snprintf(number, WORD_MAX, "%s%" PRIu64, d->before,
			 f->block / d->unit);
	}
	if (f->files) {
		argv[n++] = d->files;
		argv[n++] = f->files;
	}
	argv[n++] = TOOL_FILE;
	argv[n] = NULL;
}

/* ------------------------------------------------------------- running it */

static bool stop(void *arg)
{
	struct format *m = arg;
	struct stat st;

	if (fstat(m->fd, &st) == 0 && (uint64_t)st.st_blocks * 512 > m->most)
		m->full = true;
	return m->full || (m->progress && m->progress(m->arg, 0, m->size));
}

static int no_memory(struct format *m)
{
	return image_fail(m->why, -ENOSPC, m->name,
			  "what it writes does not fit into the memory that "
			  "the pool has left");
}

static int fail_run(struct format *m, const struct tool *t, int error)
{
	const char *said = *t->said ? t->said : "it has said nothing";

	switch (error) {
	case -EIO:
		if (WIFSIGNALED(t->status))
			return image_fail(m->why, error, m->name,
					  "was ended by signal %d: %s",
					  WTERMSIG(t->status), said);
		return image_fail(m->why, error, m->name, "has failed (%d): %s",
				  WEXITSTATUS(t->status), said);
	case -ETIMEDOUT:
		return image_fail(m->why, error, m->name,
				  "was ended: it was not through after %u s: "
				  "%s",
				  MSEC_MOST / 1000, said);
	case -ECANCELED:
		return m->full ? no_memory(m)
			       : image_fail(m->why, error, m->name,
					    "was ended: it was given up");
	}
	return image_fail(m->why, error, m->path, "cannot be started: %s",
			  strerror(-error));
}

static int run(struct format *m)
{
	const char *argv[ARGUMENTS_MOST];
	char number[WORD_MAX];
	struct tool t = {
		.argv = (char *const *)argv,
		.fd = m->fd,
		.msec = MSEC_MOST,
		.stop = stop,
		.arg = m,
	};
	int error;

	put_arguments(m, argv, number);
	error = tool_run(&t);
	return error ? fail_run(m, &t, error) : 0;
}

/* A file in memory of the disk's size, that takes what is written to it. */
static int make_file(struct format *m)
{
	m->fd = memfd_create(m->name, MFD_CLOEXEC);
	/* mkswap warns of a file that everybody may read. */
	if (m->fd < 0 || fchmod(m->fd, 0600) < 0 ||
	    ftruncate(m->fd, m->size) < 0)
		return image_fail(m->why, -errno, m->name,
				  "no file for it in memory: %s",
				  strerror(errno));
	return 0;
}

static int take_over(struct format *m, struct ram_disk *disk,
		     struct ram_thread *thread)
{
	struct source source;
	int error = source_take(&source, m->fd, m->name, m->why);

	if (!error && source.size > m->size)
		error = image_fail(m->why, -EIO, m->name,
				   "has written behind the end of the disk");
	if (!error)
		error = load_source(&source, disk, thread, m->size, m->progress,
				    m->arg, m->why);
	return error == -ENOSPC ? no_memory(m) : error;
}

int image_format(const struct image_format *f, struct ram_disk *disk,
		 struct ram_thread *thread, uint64_t most,
		 ram_progress *progress, void *arg, struct ram_why *why)
{
	struct format m = {
		.f = f,
		.fd = -1,
		.size = ram_disk_size(disk),
		.most = most,
		.progress = progress,
		.arg = arg,
		.why = why,
	};
	int error = find(&m);

	if (!error)
		error = make_file(&m);
	if (!error)
		error = run(&m);
	if (!error)
		error = take_over(&m, disk, thread);
	if (m.fd >= 0)
		close(m.fd);
	free(m.path);
	return error;
}
