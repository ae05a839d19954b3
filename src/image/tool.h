/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of somebody else's, run for a moment: with a file of ours, without
 * anything else of ours, and with an end. */
#ifndef NBDRAM_IMAGE_TOOL_H
#define NBDRAM_IMAGE_TOOL_H

#include <stdbool.h>
#include <stddef.h>

/* What its descriptor of the file is called. */
#define TOOL_FILE "/proc/self/fd/3"

struct tool {
	/* The caller's. argv[0] is a path. */
	char *const *argv;
	int fd;	       /* of the file, its descriptor 3 */
	unsigned msec; /* it has so long */
	/* Asked twenty times a second and more; true ends it. */
	bool (*stop)(void *arg);
	void *arg;

	/* What came of it. */
	int status;	/* as wait(2) has it, after -EIO */
	char said[400]; /* the beginning of what it printed, in one line */
};

/* The path of a program, looked for in PATH and where such programs are if that does
 * not name it; to be freed. NULL: there is none, or no memory. */
char *tool_find(const char *name);

/* Run it, with its whole process group ended when it returns. Blocks.
 * -EIO        it failed; status and said say how
 * -ETIMEDOUT  it was killed, for its time was over
 * -ECANCELED  it was killed, for stop() said so
 * else        it could not be started */
int tool_run(struct tool *t);

#endif
