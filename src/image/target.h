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
	/* What is put is compared with what is there, and written where that differs;
	 * or not even then, and `differs` is set. Raw. */
	bool compares, looks, differs;
	uint64_t written; /* bytes */
	struct stat st;
	uint64_t size, at;
	struct ZSTD_CCtx_s *zst; /* NULL: raw */
	uint8_t *output, *there;
};

/* Only look whether path is a raw file that holds just what is put, of which nothing
 * is written: 0, and t->differs says so when all has been put, or before. 1: it is none
 * of that size. Closed by target_close() in any case. */
int target_look(struct target *t, const char *path, uint64_t size,
		struct ram_why *why);

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
