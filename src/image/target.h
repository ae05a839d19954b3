/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that a disk is written to: beside the one that it takes the place of in
 * the end. */
#ifndef NBDRAM_IMAGE_TARGET_H
#define NBDRAM_IMAGE_TARGET_H

#include <stdint.h>
#include <sys/stat.h>

#include "fail.h"

struct target {
	const char *path; /* the caller's */
	char *tmp;	  /* path.tmp */
	int fd, folder;
	bool replaces; /* st is of what is there */
	bool made;     /* tmp is ours, and to be removed */
	struct stat st;
	uint64_t size, at;
	struct ZSTD_CCtx_s *zst; /* NULL: raw */
	uint8_t *output;
};

/* For a disk of that size, of which about `data` bytes are data. 0, or as
 * image_save(); closed by target_close() in any case. */
int target_open(struct target *t, const char *path, uint64_t size,
		uint64_t data, struct ram_why *why);

/* The next bytes; data NULL: they are a hole. */
int target_put(struct target *t, const void *data, uint64_t len,
	       struct ram_why *why);

/* All of it is there: make it safe, and put it in its place. */
int target_finish(struct target *t, struct ram_why *why);

/* What is not finished is removed. */
void target_close(struct target *t);

#endif
