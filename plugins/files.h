/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that the disk begins with, and is saved to. */
#ifndef NBDRAM_PLUGIN_FILES_H
#define NBDRAM_PLUGIN_FILES_H

#include "store.h"

/* A parameter of ours: 0, or -1 and nbdkit_error() was called; 1: it is another. */
int files_config(const char *key, const char *value);

/* Whether one was given. */
bool files_load_given(void); /* image=, or save= */
bool files_save_given(void);

/* The file that a new disk is loaded from: that of save= if it is there, else that of
 * image=; NULL: none. */
const char *files_source(void);

/* Fill a new disk that nobody else sees, and give it its size; size 0: that of the
 * file. Or -1, and nbdkit_error(). */
int files_load(const char *path, struct ram_disk *disk,
	       struct ram_thread *thread, uint64_t size);

/* Save it, if that was asked for; when nobody has it open any more. */
void files_save(struct ram_disk *disk, struct ram_thread *thread);

void files_free(void);

#endif
