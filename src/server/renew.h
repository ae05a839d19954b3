/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk back to what it was made of. */
#ifndef NBDRAM_SERVER_RENEW_H
#define NBDRAM_SERVER_RENEW_H

#include "server.h"

/* What `o` would have a new disk made with: its clone's as it is now, or a file
 * system, or nothing; beside it, as a disk that nobody sees and no restart finds, for
 * the calls below, and renew_drop() afterwards. o->size 0: the size `size`, or
 * that of what it is a copy of. mkfs may take long; no lock is needed. Outside every
 * epoch. -ENOENT (no such source), -ENOSPC, -EINVAL, -ENOMEM, as image_format();
 * -EBUSY: the source has data behind o->size; why says it in one line. */
int renew_model(struct server *server, const struct config_export *o,
		uint64_t size, ram_progress *progress, void *arg,
		struct ram_disk **model, struct ram_why *why);
void renew_drop(struct ram_disk *model); /* NULL is fine */

/* The disk's contents and size become the model's (NULL: one is made), at once, or not
 * at all. The caller sees to it that nobody has it open. Outside every epoch, with
 * change_lock held. -EROFS, or as above; why says it in one line. */
int renew_disk(struct server *server, struct ram_disk *disk,
	       const struct config_export *o, struct ram_disk *model,
	       struct ram_why *why);

/* The same, if nobody has the export open, and nobody can come in before `then` has
 * been called with arg and the disk, to say whose it is now; its error comes back.
 * -EBUSY: somebody has; -EFBIG: what -EBUSY is above. */
int renew_unused(struct server *server, struct export *e,
		 const struct config_export *o, struct ram_disk *model,
		 int (*then)(void *arg, struct ram_disk *disk), void *arg,
		 struct ram_why *why);

#endif
