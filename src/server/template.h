/* SPDX-License-Identifier: BSD-3-Clause */
/* What a [template PATTERN] makes of a name that a client opens. Pure. */
#ifndef NBDRAM_SERVER_TEMPLATE_H
#define NBDRAM_SERVER_TEMPLATE_H

#include "access.h"
#include "config.h"
#include "store.h"

/* One disk, as a template has it made. */
struct template_disk {
	/* Its name and all that an export has, with the size that was asked for
	 * (0: as what it is made of, or none was) and %* filled in. */
	struct config_export o;
	char *pattern;	      /* which template */
	char *owner;	      /* whose it becomes: identity_owner() */
	uint64_t max_size;    /* of a size that a client names; 0: no limit */
	unsigned expire_msec; /* 0: never */
	unsigned max_disks;   /* of the template; 0: no limit */
	unsigned max_each;    /* ... of one identity */
	bool fresh;	      /* a new one each session */
	bool size_in_name;    /* the client is to say how large */
};

/* The first template of the configuration that takes the name for that client.
 * 0: *t is the caller's, to be freed by template_disk_free(). Else *t is empty:
 * -ENOENT  none takes it
 * -EACCES  one does, and not for this client
 * -ERANGE  a size is named that is too large; why says it in one line
 * -ENOMEM */
int template_find(const struct config *config, const char *name,
		  const struct identity *who, struct template_disk *t,
		  struct ram_why *why);

/* The same as a disk of it has to be after a reload: by pattern; the rules are for
 * the name. -ENOENT, -ENOMEM; -EINVAL: they cannot be made for this name. */
int template_again(const struct config *config, const char *pattern,
		   const char *name, struct template_disk *t);

void template_disk_free(struct template_disk *t);

#endif
