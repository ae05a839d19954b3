/* SPDX-License-Identifier: BSD-3-Clause */
/* What a disk should hold: flat arrays of bytes.
 *
 * A disk may be far larger than memory, so the model keeps windows: all that a
 * test writes lies in one of them, and everything outside reads as zeroes.
 * Beside the bytes stands, for each block, a stamp of the last operation that
 * touched it; two disks with equal stamps there have had the same history. */
#ifndef NBDRAM_TESTS_STORE_MODEL_H
#define NBDRAM_TESTS_STORE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#define MODEL_WINDOWS 8

struct model_window {
	uint64_t off; /* a multiple of the block size */
	uint64_t len; /* likewise; may reach beyond the disk */
	uint8_t *bytes;
	uint64_t *stamp; /* one per block */
};

struct model {
	uint64_t size;
	unsigned windows;
	struct model_window window[MODEL_WINDOWS];
};

/* A disk of zeroes. Windows are added before it is used; they do not meet. */
struct model *model_new(uint64_t size);
void model_window(struct model *model, uint64_t off, uint64_t len);
struct model *model_copy(const struct model *model);
void model_free(struct model *model);

/* A new disk with windows as suit its size: all of it when it is small, else
 * the surroundings of where tables begin and end (2 MiB, 1 GiB, 512 GiB, 256
 * TiB), of the first byte and of the last. Room is left for growing a bit. */
struct model *model_for_size(uint64_t size);

/* The window that holds off (NULL: none). */
struct model_window *model_find(struct model *model, uint64_t off);

void model_write(struct model *model, const void *buf, uint64_t len,
		 uint64_t off);
void model_zero(struct model *model, uint64_t len, uint64_t off);
void model_read(const struct model *model, void *buf, uint64_t len,
		uint64_t off);
/* Bytes that become visible by growing are zero. */
void model_resize(struct model *model, uint64_t size);

/* Is any byte from off to the end not zero? */
bool model_data_beyond(const struct model *model, uint64_t off);

/* Read the disk's windows, and some places between them, and compare. what is
 * for the message. */
void model_verify(const struct model *model, struct env *env,
		  struct ram_disk *disk, const char *what);

/* Each block must be, whole, as in old or as in new. False: not so, with the
 * place in *where. */
bool model_either(const struct model *old, const struct model *new,
		  struct env *env, struct ram_disk *disk, uint64_t *where);

/* Take over from the disk, block by block, what model_either() found. */
void model_adopt(struct model *model, struct env *env, struct ram_disk *disk);

/* Walk all extents: holes are zero, what is not zero is no hole, nothing is
 * allocated outside the windows. With base (and its model): what is said to be
 * the same is the same, and what was never touched is said to be the same. */
void model_extents(const struct model *model, struct env *env,
		   struct ram_disk *disk, const struct model *base_model,
		   struct ram_disk *base, unsigned flags, const char *what);

#endif
