/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk into a file, while clients go on. */
#ifndef NBDRAM_SERVER_DISK_SAVE_H
#define NBDRAM_SERVER_DISK_SAVE_H

#include "image.h"
#include "store.h"

#define DISK_STILL 0x100u /* nobody writes to it any more */

/* As it is at one moment, held by a temporary snapshot (which a full pool may not have
 * room for; DISK_STILL needs none). flags: that, and those of image_save(). Blocks;
 * outside every epoch. As image_save(); -EAGAIN: the pool has become full, and writers
 * need what the save holds: later; why says so. */
int disk_save(struct ram_pool *pool, struct ram_disk *disk,
	      struct ram_thread *thread, const char *file, unsigned flags,
	      ram_progress *progress, void *arg, struct image_saved *saved,
	      struct ram_why *why);

/* A name for a disk that lasts as long as some work, as no client and no command can
 * call one. */
#define DISK_HIDDEN_NAME 40
void disk_hidden_name(char name[DISK_HIDDEN_NAME]);

#endif
