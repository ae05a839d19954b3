/* SPDX-License-Identifier: BSD-3-Clause */
/* From a source into a disk. */
#ifndef NBDRAM_IMAGE_LOAD_H
#define NBDRAM_IMAGE_LOAD_H

#include "source.h"

/* All that the source has, from its beginning; as image_load(). */
int load_source(struct source *source, struct ram_disk *disk,
		struct ram_thread *thread, uint64_t most,
		ram_progress *progress, void *arg, struct ram_why *why);

#endif
