/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is read as a disk: pieces of data with holes between. */
#ifndef NBDRAM_IMAGE_SOURCE_H
#define NBDRAM_IMAGE_SOURCE_H

#include <stdint.h>
#include <sys/stat.h>

#include "fail.h"

struct source {
	const char *path; /* the caller's */
	int fd;
	struct stat st;		 /* as it was when it was opened */
	uint64_t size;		 /* bytes of the disk; 0: only its end tells */
	uint64_t at;		 /* the next byte of the disk */
	uint64_t taken;		 /* bytes of the file so far */
	uint64_t end;		 /* raw: where the data that is read now ends */
	bool eats;		 /* raw: leave holes behind */
	struct ZSTD_DCtx_s *zst; /* NULL: raw */
	uint8_t *input;
	size_t have, used; /* zst: of input */
	bool within;	   /* zst: a frame has begun and not ended */
};

/* 0, or as image_load(); closed by source_close() in any case. */
int source_open(struct source *s, const char *path, struct ram_why *why);
void source_close(struct source *s);

/* The same of a raw file that is open already, under a name for messages; fd is
 * source_close()'s. What was read is given back to the system: nobody else has it. */
int source_take(struct source *s, int fd, const char *name,
		struct ram_why *why);

/* Raw: over the hole that may be at s->at, to data, which ends at s->end. False:
 * nothing but holes follows. */
bool source_find_data(struct source *s);

/* The next piece into buf, which has IMAGE_CHUNK bytes: its length, and *off where
 * it belongs. 0: that was all, and s->at is how long it is. */
int64_t source_next(struct source *s, void *buf, uint64_t *off,
		    struct ram_why *why);

#endif
