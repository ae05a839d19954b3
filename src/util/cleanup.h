/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables that give back what they hold when they go out of scope. For
 * lifetimes of one function; constructors use ordered goto labels instead. */
#ifndef NBDRAM_UTIL_CLEANUP_H
#define NBDRAM_UTIL_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP_FREE __attribute__((cleanup(cleanup_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

/* A descriptor; negative: none. */
static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
