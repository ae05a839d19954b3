/* SPDX-License-Identifier: BSD-3-Clause */
/* What attach.c and renew.c have in common. */
#ifndef NBDRAM_ATTACH_ATTACH_PRIVATE_H
#define NBDRAM_ATTACH_ATTACH_PRIVATE_H

#include "attach.h"

/* None of them open. NULL: no memory. */
struct attach_link *attach_links_new(unsigned count);
void attach_links_close(struct attach_link *links, unsigned count);

/* Write the state file so that it covers the present epoch and a good number of
 * those that follow. */
int attach_disk_save(struct attach_disk *disk, struct attach_why *why);

#endif
