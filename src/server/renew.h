/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk back to what it was made of. */
#ifndef NBDRAM_SERVER_RENEW_H
#define NBDRAM_SERVER_RENEW_H

#include "server.h"

/* Its contents and size become what `o` would have a new one made with: its clone's
 * as they are now, or none; at once, or not at all. o->size 0: the size that it
 * has, or that of what it is a copy of. The caller sees to it that nobody has it
 * open. Outside every epoch, with change_lock held. -ENOENT (no such source),
 * -EROFS, -ENOSPC, -EINVAL, -ENOMEM; -EBUSY: the source has data behind o->size;
 * why says it in one line. */
int renew_disk(struct server *server, struct ram_disk *disk,
	       const struct config_export *o, struct ram_why *why);

/* The same, if nobody has the export open, and nobody can come in before `then` has
 * been called with arg and the disk, to say whose it is now; its error comes back.
 * -EBUSY: somebody has; -EFBIG: what -EBUSY is above. */
int renew_unused(struct server *server, struct export *e,
		 const struct config_export *o,
		 int (*then)(void *arg, struct ram_disk *disk), void *arg,
		 struct ram_why *why);

#endif
