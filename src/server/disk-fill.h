/* SPDX-License-Identifier: BSD-3-Clause */
/* What is to be in a new disk: what a file has, or a file system. */
#ifndef NBDRAM_SERVER_DISK_FILL_H
#define NBDRAM_SERVER_DISK_FILL_H

#include "config.h"
#include "store.h"

/* Texts are those of the export. */
struct disk_contents {
	const char *file;   /* it is loaded from that, */
	bool saved;	    /* ... to which it was saved */
	bool lazy;	    /* ... and that behind, while it is served */
	const char *format; /* ... else formatted; both NULL: it is empty */
};

/* What an export asks for: what was saved comes before its clone, all else
 * behind. */
void disk_contents(const struct config_export *o,
		   struct disk_contents *contents);

static inline bool disk_is_filled(const struct disk_contents *contents)
{
	return contents->file || contents->format;
}

/* "loaded from FILE", and so on. Returns buf. */
#define DISK_CONTENTS_TEXT 400
const char *disk_contents_text(const struct disk_contents *contents,
			       char buf[DISK_CONTENTS_TEXT]);

/* Whether what makes it is there. -EINVAL, and a line in *errors. */
int disk_contents_try(const struct config_export *o,
		      struct config_errors *errors);

/* Fill a disk that is new and that nobody sees yet (contents->lazy: it is known then
 * what is to come, which fetcher.h brings), and give it the size and the promises of
 * *o; without o->size that of the file. Blocks; outside every epoch. As
 * image_load() and image_format(). */
int disk_fill(struct ram_pool *pool, struct ram_disk *disk,
	      const struct config_export *o,
	      const struct disk_contents *contents, ram_progress *progress,
	      void *arg, struct ram_why *why);

#endif
