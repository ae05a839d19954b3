/* SPDX-License-Identifier: BSD-3-Clause */
/* The name by which a disk remembers the file that it is loaded from. */
#ifndef NBDRAM_IMAGE_LAZY_H
#define NBDRAM_IMAGE_LAZY_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "store.h"

/* A file, and what shows that it is the same still. */
struct lazy_name {
	uint64_t size, inode;
	int64_t sec; /* when it was written to last, */
	long nsec;
	char path[PATH_MAX];
};

/* Into the store's bytes: how many; -ENAMETOOLONG. */
int lazy_write(const struct lazy_name *name, char bytes[RAM_SOURCE_MAX]);

/* Back; any bytes may come. False: they are none of ours. */
bool lazy_read(const void *bytes, uint32_t len, struct lazy_name *name);

/* What is different of the file: a word for people; NULL: it is the same. */
const char *lazy_differs(const struct lazy_name *name, const struct stat *st);

#endif
